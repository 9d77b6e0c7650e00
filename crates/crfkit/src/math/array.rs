//! Arrays of [`Scalar`]s stored in planes: all real parts first, then all ε parts. Vector units then see plain
//! `f64`s.

use super::{Scalar, simd};
use std::marker::PhantomData;
use std::ops::Range;

/// A growable array of `S`. An array of `f64` has one plane, one of dual or complex numbers has two.
#[derive(Clone, Debug)]
pub struct Array<S> {
    planes: [Vec<f64>; 2],
    kind: PhantomData<S>,
}

/// A borrowed part of an [`Array`].
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a, S> {
    /// The real plane.
    pub re: &'a [f64],
    /// The ε plane; empty for `f64`.
    pub eps: &'a [f64],
    kind: PhantomData<S>,
}

/// A mutably borrowed part of an [`Array`].
#[derive(Debug)]
pub struct SliceMut<'a, S> {
    /// The real plane.
    pub re: &'a mut [f64],
    /// The ε plane; empty for `f64`.
    pub eps: &'a mut [f64],
    kind: PhantomData<S>,
}

impl<'a, S: Scalar> Slice<'a, S> {
    /// A part of the slice.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Slice<'a, S> {
        let eps = if S::PLANES == 2 { &self.eps[range.clone()] } else { &[] };
        Slice { re: &self.re[range], eps, kind: PhantomData }
    }

    /// Σ of all numbers.
    pub fn sum(&self) -> S {
        S::new(simd::sum(self.re), if S::PLANES == 2 { simd::sum(self.eps) } else { 0.0 })
    }

    /// The number at `i`.
    #[inline]
    pub fn at(&self, i: usize) -> S {
        S::new(self.re[i], if S::PLANES == 2 { self.eps[i] } else { 0.0 })
    }
}

impl<'a, S: Scalar> SliceMut<'a, S> {
    /// A slice over planes of equal length; `eps` is empty for `f64`.
    pub fn new(re: &'a mut [f64], eps: &'a mut [f64]) -> Self {
        SliceMut { re, eps, kind: PhantomData }
    }

    /// Splits the slice into the first `n` numbers and the rest.
    #[doc(hidden)]
    pub fn split(self, n: usize) -> (SliceMut<'a, S>, SliceMut<'a, S>) {
        let (re, re_rest) = self.re.split_at_mut(n);
        let (eps, eps_rest) = self.eps.split_at_mut(if S::PLANES == 2 { n } else { 0 });
        (SliceMut::new(re, eps), SliceMut::new(re_rest, eps_rest))
    }

    /// A part of the slice.
    #[inline]
    pub fn part(&mut self, range: Range<usize>) -> SliceMut<'_, S> {
        let eps = if S::PLANES == 2 { &mut self.eps[range.clone()] } else { &mut [] };
        SliceMut { re: &mut self.re[range], eps, kind: PhantomData }
    }

    /// A read-only part of the slice.
    #[inline]
    pub fn read(&self, range: Range<usize>) -> Slice<'_, S> {
        let eps = if S::PLANES == 2 { &self.eps[range.clone()] } else { &[] };
        Slice { re: &self.re[range], eps, kind: PhantomData }
    }

    /// Overwrites all numbers.
    pub fn fill(&mut self, value: f64) {
        self.re.fill(value);
        self.eps.fill(0.0);
    }

    /// The number at `i`.
    #[inline]
    pub fn at(&self, i: usize) -> S {
        S::new(self.re[i], if S::PLANES == 2 { self.eps[i] } else { 0.0 })
    }

    /// Overwrites the number at `i`.
    #[inline]
    pub fn set(&mut self, i: usize, x: S) {
        self.re[i] = x.re();
        if S::PLANES == 2 {
            self.eps[i] = x.eps();
        }
    }

    /// Adds to the number at `i`.
    #[inline]
    pub fn add(&mut self, i: usize, x: S) {
        self.re[i] += x.re();
        if S::PLANES == 2 {
            self.eps[i] += x.eps();
        }
    }
}

impl<S> Default for Array<S> {
    fn default() -> Self {
        Array { planes: [Vec::new(), Vec::new()], kind: PhantomData }
    }
}

impl<S: Scalar> Array<S> {
    /// `n` zeros.
    pub fn zeros(n: usize) -> Self {
        let mut array = Self::default();
        array.reset(n, 0.0);
        array
    }

    /// Resizes the array to `n` numbers, all equal to `value`, and reuses its memory.
    pub fn reset(&mut self, n: usize, value: f64) {
        self.planes[0].clear();
        self.planes[0].resize(n, value);
        if S::PLANES == 2 {
            self.planes[1].clear();
            self.planes[1].resize(n, 0.0);
        }
    }

    /// Makes room for at least `n` numbers. Existing numbers stay; new ones are zero.
    #[doc(hidden)]
    pub fn reserve(&mut self, n: usize) {
        for plane in &mut self.planes[..S::PLANES] {
            if plane.len() < n {
                plane.resize(n, 0.0);
            }
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.planes[0].len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.planes[0].is_empty()
    }

    /// The number at `i`.
    #[inline]
    pub fn get(&self, i: usize) -> S {
        S::new(self.planes[0][i], if S::PLANES == 2 { self.planes[1][i] } else { 0.0 })
    }

    /// Overwrites the number at `i`.
    #[inline]
    pub fn set(&mut self, i: usize, x: S) {
        self.planes[0][i] = x.re();
        if S::PLANES == 2 {
            self.planes[1][i] = x.eps();
        }
    }

    /// Adds to the number at `i`.
    #[inline]
    pub fn add(&mut self, i: usize, x: S) {
        self.planes[0][i] += x.re();
        if S::PLANES == 2 {
            self.planes[1][i] += x.eps();
        }
    }

    /// One plane: 0 is the real plane, 1 the ε plane.
    pub fn plane(&self, plane: usize) -> &[f64] {
        &self.planes[plane]
    }

    /// One plane, mutably.
    pub fn plane_mut(&mut self, plane: usize) -> &mut [f64] {
        &mut self.planes[plane]
    }

    /// A part of the array.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Slice<'_, S> {
        let eps = if S::PLANES == 2 { &self.planes[1][range.clone()] } else { &[] };
        Slice { re: &self.planes[0][range], eps, kind: PhantomData }
    }

    /// A part of the array, mutably.
    #[inline]
    pub fn slice_mut(&mut self, range: Range<usize>) -> SliceMut<'_, S> {
        let [re, eps] = &mut self.planes;
        let eps = if S::PLANES == 2 { &mut eps[range.clone()] } else { &mut [] };
        SliceMut { re: &mut re[range], eps, kind: PhantomData }
    }

    /// Two parts of the array, where `first` lies before `second`. The second is mutable.
    #[inline]
    pub fn split(&mut self, first: Range<usize>, second: Range<usize>) -> (Slice<'_, S>, SliceMut<'_, S>) {
        let [re, eps] = &mut self.planes;
        let (re_front, re_back) = re.split_at_mut(second.start);
        let n = second.end - second.start;
        let (eps_front, eps_back): (&[f64], &mut [f64]) = if S::PLANES == 2 {
            let (front, back) = eps.split_at_mut(second.start);
            (&front[first.clone()], &mut back[..n])
        } else {
            (&[], &mut [])
        };
        (
            Slice { re: &re_front[first], eps: eps_front, kind: PhantomData },
            SliceMut { re: &mut re_back[..n], eps: eps_back, kind: PhantomData },
        )
    }

    /// Two parts of the array, where `first` lies before `second`. The first is mutable.
    #[inline]
    pub(crate) fn split_mut(
        &mut self,
        first: Range<usize>,
        second: Range<usize>,
    ) -> (SliceMut<'_, S>, Slice<'_, S>) {
        let [re, eps] = &mut self.planes;
        let (re_front, re_back) = re.split_at_mut(second.start);
        let n = second.end - second.start;
        let (eps_front, eps_back): (&mut [f64], &[f64]) = if S::PLANES == 2 {
            let (front, back) = eps.split_at_mut(second.start);
            (&mut front[first.clone()], &back[..n])
        } else {
            (&mut [], &[])
        };
        (
            SliceMut { re: &mut re_front[first], eps: eps_front, kind: PhantomData },
            Slice { re: &re_back[..n], eps: eps_back, kind: PhantomData },
        )
    }

    /// Adds another array of the same length, number by number.
    pub(crate) fn add_all(&mut self, other: &Array<S>) {
        for (mine, theirs) in self.planes.iter_mut().zip(&other.planes) {
            debug_assert_eq!(mine.len(), theirs.len());
            for (x, y) in mine.iter_mut().zip(theirs) {
                *x += y;
            }
        }
    }
}
