// Swahili. The texts are machine-drafted and not yet reviewed by a native speaker. English stands where a text is
// missing, which a test reports.

import { EN, type Texts } from './en.ts'
import { SW_DECISIONS } from './sw/decisions.ts'
import { SW_DEVELOPERS } from './sw/developers.ts'
import { SW_EVENTS } from './sw/events.ts'
import { SW_FINANCE } from './sw/finance.ts'
import { SW_FRAME } from './sw/frame.ts'
import { SW_KEYS } from './sw/keys.ts'
import { SW_MONEY } from './sw/money.ts'
import { SW_OPS } from './sw/ops.ts'
import { SW_PAYMENTS } from './sw/payments.ts'
import { SW_PEOPLE } from './sw/people.ts'
import { SW_RECORDS } from './sw/records.ts'
import { SW_SETTINGS } from './sw/settings.ts'
import { SW_SUPPORT } from './sw/support.ts'
import { SW_WORDS } from './sw/words.ts'

export const SW: Texts = {
  ...EN,
  ...SW_FRAME,
  ...SW_PAYMENTS,
  ...SW_DEVELOPERS,
  ...SW_WORDS,
  ...SW_EVENTS,
  ...SW_FINANCE,
  ...SW_DECISIONS,
  ...SW_KEYS,
  ...SW_MONEY,
  ...SW_OPS,
  ...SW_PEOPLE,
  ...SW_RECORDS,
  ...SW_SETTINGS,
  ...SW_SUPPORT,
}
