// Schedules that the service once failed, with the defect. Every run repeats them. A change of the world changes the
// meaning of seeds, so search for them again then; each corrected defect also has its own test.

export const REGRESSION_SEEDS: readonly { seed: number; was: string }[] = [
  {
    seed: 17,
    was: 'Two concurrent submissions that extend the expiry: the second repeated the move of the first and failed.',
  },
  {
    seed: 269,
    was: 'A status check of a charge got no response at the end of an outage, and the next came after 72 seconds.',
  },
  { seed: 85, was: 'The same with a checkout, after a call that had timed out.' },
  {
    seed: 690,
    was: 'An attempt that the payer had left was paid, its gateway did not respond, and the checkout ended by the next attempt.',
  },
  {
    seed: 54_539,
    was: 'A declined page was paid later, its gateway did not respond, and the checkout expired.',
  },
  { seed: 80_219, was: 'The same, with two processes that polled.' },
  {
    seed: 304_815_000_543,
    was: 'A declined page was paid after another attempt was, its gateway returned a stale status, and no poll followed.',
  },
]
