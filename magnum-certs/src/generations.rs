//! A key with its successor or predecessor: what rotation without a gap needs.

use magnum_core::driver::RotationPhase;

/// One numbered generation of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation<T> {
    /// Counts from 1.
    pub number: u32,
    /// The key or authority.
    pub value: T,
}

/// The generation that signs and, during a rotation, the other one that is trusted as well.
///
/// The phase is not stored beside the keys, it follows from them: so there is nothing that could disagree after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generations<T> {
    signing: Generation<T>,
    trusted: Option<Generation<T>>,
}

impl<T> Generations<T> {
    /// The first generation.
    #[must_use]
    pub fn first(value: T) -> Self {
        Self {
            signing: Generation { number: 1, value },
            trusted: None,
        }
    }

    pub(crate) fn from_parts(signing: Generation<T>, trusted: Option<Generation<T>>) -> Self {
        Self { signing, trusted }
    }

    /// The generation that signs.
    #[must_use]
    pub fn signing(&self) -> &Generation<T> {
        &self.signing
    }

    /// The other generation that is trusted as well, during a rotation.
    #[must_use]
    pub fn also_trusted(&self) -> Option<&Generation<T>> {
        self.trusted.as_ref()
    }

    /// All that is trusted, the signing one first (kubeadm takes the first certificate of a bundle as the authority).
    pub fn trusted(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.signing.value).chain(self.trusted.as_ref().map(|other| &other.value))
    }

    /// Where the rotation stands; none where there is one generation only, which signs and is trusted.
    #[must_use]
    pub fn phase(&self) -> Option<RotationPhase> {
        self.trusted.as_ref().map(|other| {
            if other.number > self.signing.number {
                RotationPhase::TrustBoth
            } else {
                RotationPhase::Reissue
            }
        })
    }

    /// The number of the newest generation.
    #[must_use]
    pub fn newest(&self) -> u32 {
        let other = self.trusted.as_ref().map(|other| other.number);
        other.map_or(self.signing.number, |other| other.max(self.signing.number))
    }

    /// The number that a successor gets.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.signing.number.saturating_add(1)
    }

    /// From one generation to [`RotationPhase::TrustBoth`] with the new generation that `make` gives for its number. In any other phase nothing changes
    /// and `make` is not called, so that a repeated start after a crash starts nothing twice.
    ///
    /// # Errors
    /// What `make` gives.
    pub fn begin<E>(self, make: impl FnOnce(u32) -> Result<T, E>) -> Result<Self, E> {
        if self.trusted.is_some() {
            return Ok(self);
        }
        let number = self.next_number();
        let trusted = Some(Generation {
            number,
            value: make(number)?,
        });
        Ok(Self {
            signing: self.signing,
            trusted,
        })
    }

    /// From [`RotationPhase::TrustBoth`] to [`RotationPhase::Reissue`]: the new one signs. Otherwise unchanged.
    #[must_use]
    pub fn switch(self) -> Self {
        match (self.phase(), self.trusted) {
            (Some(RotationPhase::TrustBoth), Some(new)) => Self {
                signing: new,
                trusted: Some(self.signing),
            },
            (_, trusted) => Self {
                signing: self.signing,
                trusted,
            },
        }
    }

    /// From [`RotationPhase::Reissue`] to one generation: the old one is no longer trusted. Otherwise unchanged.
    #[must_use]
    pub fn finish(self) -> Self {
        match self.phase() {
            Some(RotationPhase::Reissue) => Self {
                signing: self.signing,
                trusted: None,
            },
            _ => self,
        }
    }

    /// From [`RotationPhase::TrustBoth`] back: the new generation is given up before it signed anything. Otherwise unchanged.
    #[must_use]
    pub fn abandon(self) -> Self {
        match self.phase() {
            Some(RotationPhase::TrustBoth) => Self {
                signing: self.signing,
                trusted: None,
            },
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Generations<u32> {
        Generations::first(1).begin(Ok::<_, ()>).unwrap()
    }

    #[test]
    fn ck_09_phases_follow_each_other_and_repeat_harmlessly() {
        let both = begun();
        assert_eq!(both.phase(), Some(RotationPhase::TrustBoth));
        assert_eq!(both.trusted().collect::<Vec<_>>(), [&1, &2]);
        assert_eq!(both.clone().begin(|_| Err("called")).unwrap(), both);
        assert_eq!(
            both.clone().finish(),
            both,
            "the old one is not dropped before the new one signs"
        );

        let reissue = both.switch();
        assert_eq!(reissue.phase(), Some(RotationPhase::Reissue));
        assert_eq!(reissue.trusted().collect::<Vec<_>>(), [&2, &1]);
        assert_eq!(reissue.clone().switch(), reissue);
        assert_eq!(reissue.clone().abandon(), reissue, "too late to give up");

        let stable = reissue.finish();
        assert_eq!((stable.phase(), stable.signing().number), (None, 2));
        assert_eq!(stable.clone().switch(), stable);
        assert_eq!(
            stable
                .begin(Ok::<_, ()>)
                .unwrap()
                .also_trusted()
                .map(|new| new.number),
            Some(3)
        );
    }

    #[test]
    fn ck_09_a_rotation_can_be_given_up_before_the_switch() {
        assert_eq!(begun().abandon(), Generations::first(1));
    }
}
