//! Finds the ends of messages in a gRPC body.
//!
//! Source: `Length-Prefixed-Message` of <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.

/// One byte of flags, and the length of the message as four bytes in big-endian order.
const PREFIX_BYTES: usize = 5;

/// The received part of the current message.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Received bytes of the prefix.
    prefix: usize,
    /// The length, while the prefix arrives; then the missing bytes of the message.
    missing: usize,
}

impl Messages {
    /// Whether all received messages are complete.
    pub(super) const fn is_between(&self) -> bool {
        self.prefix == 0
    }

    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.prefix < PREFIX_BYTES {
                if self.prefix > 0 {
                    self.missing = self.missing << 8 | usize::from(*first);
                }
                self.prefix += 1;
                bytes = rest;
            } else {
                let (taken, rest) = bytes.split_at(bytes.len().min(self.missing));
                self.missing -= taken.len();
                bytes = rest;
            }
            if self.prefix == PREFIX_BYTES && self.missing == 0 {
                *self = Self::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a body is between two messages after each of its bytes.
    fn check(body: &[u8], expected: &[bool]) {
        let mut messages = Messages::default();
        let mut between = Vec::new();
        for byte in body {
            messages.receive(std::slice::from_ref(byte));
            between.push(messages.is_between());
        }
        assert_eq!(between, expected, "{body:?}");
        let mut at_once = Messages::default();
        at_once.receive(body);
        assert_eq!(at_once.is_between(), expected.last().copied().unwrap_or(true));
    }

    #[test]
    fn a_message_ends_with_its_last_byte() {
        check(&[], &[]);
        check(&[0, 0, 0, 0, 0], &[false, false, false, false, true]);
        check(&[1, 0, 0, 0, 1, 9], &[false, false, false, false, false, true]);
        let two = [0, 0, 0, 0, 2, 9, 9, 0, 0, 0, 0, 0, 0];
        let f = false;
        check(&two, &[f, f, f, f, f, f, true, f, f, f, f, true, f]);
        let mut long = vec![0, 0, 0, 1, 2];
        long.extend(vec![7; 258]);
        let mut expected = vec![false; long.len()];
        expected[long.len() - 1] = true;
        check(&long, &expected);
    }
}
