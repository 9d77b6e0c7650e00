//! 16-bit floating-point numbers (IEEE 754 binary16): a sign, five bits of exponent, ten of fraction.

/// A 16-bit floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16(u16);

const INFINITY: u16 = 0x7C00;
const NAN: u16 = 0x7E00;
const SIGN: u16 = 0x8000;
/// The exponent of the smallest normal numbers. Below them the step between neighbours no longer shrinks.
const LOWEST: i32 = -14;

impl F16 {
    /// Rounds to the nearest number, ties to even; numbers that are too large become infinite. Only the first 20 of the
    /// 52 bits of a fraction count: the lower ones are cut off first, so that model files keep their bytes.
    pub(crate) fn from_f64(value: f64) -> F16 {
        let sign = if value.is_sign_negative() { SIGN } else { 0 };
        if value.is_nan() {
            return F16(sign | NAN);
        }
        let bits = value.abs().to_bits();
        let exponent = ((bits >> 52) as i32 - 1023).max(LOWEST);
        // The magnitude in steps between neighbours: 1024 to 2048 of them, fewer below the normal numbers. Powers of 2
        // divide exactly.
        let steps = (f64::from_bits(bits & !0xFFFF_FFFF) / step(exponent)).round_ties_even();
        // The leading 1 of a normal number adds one to the exponent, and so does a carry.
        let magnitude = f64::from(exponent - LOWEST) * 1024.0 + steps;
        F16(sign | magnitude.min(INFINITY.into()) as u16)
    }

    /// The exact value.
    pub(crate) fn to_f64(self) -> f64 {
        let (exponent, fraction) = (i32::from(self.0 >> 10 & 0x1F), self.0 & 0x3FF);
        let magnitude = match (exponent, fraction) {
            (0x1F, 0) => f64::INFINITY,
            (0x1F, _) => f64::NAN,
            (0, _) => f64::from(fraction) * step(LOWEST),
            _ => f64::from(1024 + fraction) * step(exponent - 1 + LOWEST),
        };
        if self.0 & SIGN == 0 { magnitude } else { -magnitude }
    }

    /// Reads a number from its bytes.
    pub(crate) fn from_le_bytes(bytes: [u8; 2]) -> F16 {
        F16(u16::from_le_bytes(bytes))
    }

    /// The bytes of the number.
    pub(crate) fn to_le_bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }
}

/// The distance between neighbouring numbers with this exponent: 2^(exponent − 10).
fn step(exponent: i32) -> f64 {
    f64::from_bits(((exponent - 10 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for bits in 0..=u16::MAX {
            let value = F16(bits).to_f64();
            match value.is_nan() {
                true => assert!(F16::from_f64(value).to_f64().is_nan()),
                false => assert_eq!(F16::from_f64(value), F16(bits), "{value}"),
            }
        }
        let known =
            [(0x0000, 0.0), (0x0001, 2f64.powi(-24)), (0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0)];
        for (bits, value) in known {
            assert_eq!(F16(bits).to_f64(), value);
        }
        assert_eq!(F16::from_le_bytes([0x00, 0xC0]).to_f64(), -2.0);
        assert_eq!(F16(0xC000).to_le_bytes(), [0x00, 0xC0]);
    }

    #[test]
    fn others_go_to_the_nearest() {
        // Test between any two neighbours: just below the middle, in the middle, just above.
        for bits in 0..INFINITY - 1 {
            let (low, high) = (F16(bits).to_f64(), F16(bits + 1).to_f64());
            let (middle, little) = ((low + high) / 2.0, (high - low) / 256.0);
            let even = F16(bits + bits % 2);
            for (value, nearest) in
                [(middle - little, F16(bits)), (middle, even), (middle + little, F16(bits + 1))]
            {
                assert_eq!(F16::from_f64(value), nearest, "{value}");
                assert_eq!(F16::from_f64(-value), F16(nearest.0 | SIGN), "-{value}");
            }
        }
        let ends = [(65519.0, 65504.0), (65520.0, f64::INFINITY), (1e300, f64::INFINITY), (1e-300, 0.0)];
        for (value, nearest) in ends {
            assert_eq!(F16::from_f64(value).to_f64(), nearest, "{value}");
        }
        // Anything below 2⁻²⁰ of the leading bit does not count, so this is taken for the middle.
        assert_eq!(F16::from_f64(1.0 + 2f64.powi(-11) + 2f64.powi(-30)).to_f64(), 1.0);
    }
}
