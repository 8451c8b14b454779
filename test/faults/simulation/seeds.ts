// Schedules that the service once failed, with what was wrong. Each is played again in every run. A seed is good for the
// world as it is: whoever changes the world looks for them anew, and what was mended has a test of its own besides.

export const REGRESSION_SEEDS: readonly { seed: number; was: string }[] = [
  {
    seed: 17,
    was: 'Two presses at once on a way to pay that is given time to act: the second moved what the first had moved, and broke.',
  },
  {
    seed: 269,
    was: 'A question about a charge got no answer in the last moment of an outage, and the next came after 72 seconds.',
  },
  { seed: 85, was: 'The same with a checkout, after a call that had waited for its time in vain.' },
  {
    seed: 690,
    was: 'A way that the payer had left was paid, its gateway did not answer, and the checkout ended on the word of the next.',
  },
  {
    seed: 54_539,
    was: 'A page that had declined was paid after all, its gateway did not answer, and the checkout ended for time.',
  },
  { seed: 80_219, was: 'The same, with two processes that looked.' },
  {
    seed: 304_815_000_543,
    was: 'A page that had declined was paid after another way was, its gateway told old news, and nobody looked again.',
  },
]
