"""Makes the small corpora that bench/golden runs on: columns, attributes, graphs and images, the same each time."""
import json
import os
import random
import sys

os.chdir(sys.argv[1])
random.seed(7)
os.makedirs('img',exist_ok=True); os.makedirs('msk',exist_ok=True)
# linked: word pos chunk
words={'D':['the','a','this'],'N':['dog','cat','bird','House','Tree'],'V':['sees','eats','Runs'],'A':['big','red','old']}
def sent():
    out=[]
    for _ in range(random.randint(1,3)):
        np=[('D',random.choice(words['D']))]
        if random.random()<.5: np.append(('A',random.choice(words['A'])))
        np.append(('N',random.choice(words['N'])))
        for i,(p,w) in enumerate(np): out.append((w,p,('B' if i==0 else 'I')+'-NP'))
        out.append((random.choice(words['V']),'V','O'))
    return out
def col(f,n):
    with open(f,'w') as h:
        for _ in range(n):
            for w,p,c in sent(): h.write(f'{w}\t{p}\t{c}\n')
            h.write('\n')
col('two.train',150); col('two.test',40)
def att(f,n):
    with open(f,'w') as h:
        for _ in range(n):
            s=sent()
            for i,(w,p,c) in enumerate(s):
                h.write(f'{c}\tw={w}\tp={p}:{random.choice([1,0.5,2])}'+(f'\tprev={s[i-1][0]}' if i else '')+'\n')
            h.write('\n')
att('att.train',120); att('att.test',30)
def graphs(f,n):
    with open(f,'w') as h:
        h.write(json.dumps({"types":{"word":{"labels":["N","V"],"dense":2},"topic":{"labels":["x","y","z"]},"next":{"over":["word","word"]},"about":{"over":["topic","word"],"table":"full"}}})+'\n')
        for _ in range(n):
            k=random.randint(2,5); t=random.choice("xyz"); nodes=[]; 
            for i in range(k):
                l=random.choice("NV"); nodes.append({"type":"word","label":l,"dense":[random.gauss(1 if l=='N' else -1,1),random.random()],"features":{"s="+l+str(random.randint(0,3)):1}})
            nodes.append({"type":"topic","label":t if random.random()<.8 else None,"features":{"t="+t:1,"u":0.5}})
            fs=[{"type":"next","nodes":[i,i+1]} for i in range(k-1)]+[{"type":"about","nodes":[k,i]} for i in range(k)]
            h.write(json.dumps({"nodes":nodes,"factors":fs})+'\n')
graphs('g.train',60); graphs('g.test',20)
for i in range(8):
    H,W=12,14; cx,cy=random.uniform(3,10),random.uniform(3,9)
    m=[[255 if (x-cx)**2+(y-cy)**2<12 else 0 for x in range(W)] for y in range(H)]
    im=[[max(0,min(255,int(m[y][x]*.5+60+random.gauss(0,50)))) for x in range(W)] for y in range(H)]
    open(f'img/p{i}.pgm','wb').write(b'P5 %d %d 255\n'%(W,H)+bytes(v for r in im for v in r))
    open(f'msk/p{i}.pgm','wb').write(b'P5 %d %d 255\n'%(W,H)+bytes(v for r in m for v in r))
