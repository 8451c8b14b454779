import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { purgePromptWindows } from './phone-prompt-queries.ts'

// The prompt of a phone may be open when its window is over, but not so long.
const LONGEST_PROMPT_MS = 3_600_000

export function checkoutJobs(app: PaymentsApp): Job[] {
  return [
    {
      name: 'purge-prompt-windows',
      intervalMs: 600_000,
      run: () => purgePromptWindows(app.instanceDb, addMs(app.clock.now(), -LONGEST_PROMPT_MS)),
    },
  ]
}
