//! Tests of the table of strings.

use super::*;
use std::collections::HashMap;

#[test]
fn agrees_with_a_hash_map() {
    let mut table = Strings::default();
    let mut map: HashMap<Vec<u8>, u32> = HashMap::new();
    assert_eq!(table.find(b"x"), None);
    for i in 0..10_000u64 {
        let name = format!("{}", (i * i) % 6_007).into_bytes();
        let expected = map.len() as u32;
        let expected = *map.entry(name.clone()).or_insert(expected);
        assert_eq!(table.intern(&name), expected);
    }
    assert_eq!(table.len(), map.len());
    for (name, id) in &map {
        assert_eq!(table.find(name), Some(*id));
        assert_eq!(table.get(*id), &name[..]);
    }
    assert_eq!(table.find(b"absent"), None);
    table.intern(b"");
    assert_eq!(table.find(b""), Some(table.len() as u32 - 1), "the empty string is a string");
}

#[test]
fn parts_make_the_table_again() {
    let mut table = Strings::default();
    for i in 0..1000 {
        table.intern(format!("{i}").as_bytes());
    }
    let (arena, ends) = table.parts();
    let put = |arena: &[u8], ends: &[u32], slots: Option<Vec<Slot>>| {
        Strings::from_parts(arena.to_vec().into(), ends.to_vec().into(), slots.map(Numbers::from), "test")
    };
    for slots in [None, Some(table.packed_slots().into_owned())] {
        let mut again = put(arena, ends, slots).unwrap();
        for i in 0..1000 {
            assert_eq!(again.find(format!("{i}").as_bytes()), Some(i));
        }
        assert_eq!(again.find(b"1000"), None);
        assert_eq!(again.packed_slots(), table.packed_slots());
        for i in 1000..2000 {
            assert_eq!(again.intern(format!("{i}").as_bytes()), i, "a table goes on growing");
        }
    }
    assert!(put(&arena[1..], ends, None).is_err());
    assert!(put(arena, &ends[1..999], None).is_err());
    let mut unsorted = ends.to_vec();
    unsorted[3] = 0;
    assert!(put(arena, &unsorted, None).is_err());
    let nothing = put(&[], &[], Some(Vec::new())).unwrap();
    assert!(nothing.find(b"").is_none());
}

#[test]
fn slots_in_which_a_search_would_go_astray_are_refused() {
    let mut table = Strings::default();
    for i in 0..20 {
        table.intern(format!("{i}").as_bytes());
    }
    let refused = |change: fn(&mut Vec<Slot>)| {
        let mut slots = table.packed_slots().into_owned();
        change(&mut slots);
        let (arena, ends) = table.parts();
        Strings::from_parts(arena.to_vec().into(), ends.to_vec().into(), Some(slots.into()), "test").is_err()
    };
    assert!(!refused(|_| ()));
    assert!(refused(|slots| slots.clear()));
    assert!(refused(|slots| slots.truncate(16)));
    assert!(refused(|slots| slots.iter_mut().for_each(|slot| slot[2] = 1)), "no free slot ends a search");
    assert!(refused(|slots| slots.iter_mut().find(|slot| slot[2] == 20).unwrap()[2] = 21), "no such string");
    assert!(refused(|slots| slots.iter_mut().find(|slot| slot[2] == 20).unwrap()[2] = 0));
}

/// If a model file is overwritten while it is mapped, its slots change after the checks of [`Strings::from_parts`].
#[test]
fn searches_end_in_slots_that_were_damaged_later() {
    let mut table = Strings::default();
    for i in 0..20 {
        table.intern(format!("{i}").as_bytes());
    }
    let damaged = |change: fn(&mut Slot)| {
        let mut damaged = table.clone();
        damaged.slots.get_mut().unwrap().to_mut().iter_mut().for_each(change);
        damaged
    };
    let mut full = damaged(|slot| *slot = [7, 7, 1]);
    assert_eq!(full.find(b"absent"), None, "no free slot ends the search");
    assert_eq!(full.intern(b"3"), 3, "interning makes the slots anew");
    assert_eq!(full.intern(b"new"), 20);
    assert_eq!(full.find(b"new"), Some(20));
    let mut strange = damaged(|slot| slot[2] = if slot[2] > 0 { u32::MAX } else { 0 });
    assert_eq!(strange.find(b"3"), None, "no string has this number");
    assert_eq!(strange.intern(b"new"), 20);
}

#[test]
fn a_full_table_is_an_error_and_not_a_wrap() {
    let mut table = Strings::of_at_most(10);
    table.intern(b"four");
    assert_eq!(table.intern(b"sixsix"), 1);
    assert!(table.check_room("the names").is_ok(), "ten bytes fit");
    assert_eq!(table.intern(b"four"), 0, "what is there is found");
    table.intern(b"x");
    let message = table.check_room("the names").unwrap_err().to_string();
    assert!(message.starts_with("the names would take more than 4 GiB"), "{message}");
    assert_eq!((table.len(), table.find(b"x")), (2, None));
    let mut many = Strings::of_at_most(10);
    (0..10u8).for_each(|k| _ = many.intern(&[k]));
    assert!(many.check_room("the names").is_err(), "numbers end before their place in a slot does");
}

#[test]
fn many_at_once_get_the_numbers_of_one_by_one() {
    let (mut one, mut many, mut hashes) = (Strings::default(), Strings::default(), Vec::new());
    for round in 0..50usize {
        let names: Vec<String> = (0..40).map(|k| format!("{}", (round * k * 7) % 301)).collect();
        let text = names.concat();
        let ends: Vec<usize> = names
            .iter()
            .scan(0, |end, name| {
                *end += name.len();
                Some(*end)
            })
            .collect();
        let mut found = Vec::new();
        many.intern_all(text.as_bytes(), &ends, &mut hashes, |id| found.push(id));
        let expected: Vec<u32> = names.iter().map(|name| one.intern(name.as_bytes())).collect();
        assert_eq!(found, expected);
    }
    let order: Vec<u32> = (0..one.len() as u32).rev().step_by(2).collect();
    let reordered = one.reordered(&order);
    for (new, &old) in order.iter().enumerate() {
        assert_eq!(
            (reordered.get(new as u32), reordered.find(one.get(old))),
            (one.get(old), Some(new as u32))
        );
    }
    assert_eq!(*reordered.packed_slots(), *reordered.slots_for(reordered.len()));
    let small: Vec<u32> = (0..one.len() as u32).take(12).collect();
    assert_eq!(*one.reordered(&small).packed_slots(), *one.reordered(&small).slots_for(12));
}
