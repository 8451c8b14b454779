// Arabic. The texts are machine-drafted and not yet reviewed by a native speaker. English stands where a text is
// missing, which a test reports.

import { AR_DECISIONS } from './ar/decisions.ts'
import { AR_DEVELOPERS } from './ar/developers.ts'
import { AR_EVENTS } from './ar/events.ts'
import { AR_FINANCE } from './ar/finance.ts'
import { AR_FRAME } from './ar/frame.ts'
import { AR_KEYS } from './ar/keys.ts'
import { AR_MONEY } from './ar/money.ts'
import { AR_OPS } from './ar/ops.ts'
import { AR_PAYMENTS } from './ar/payments.ts'
import { AR_PEOPLE } from './ar/people.ts'
import { AR_RECORDS } from './ar/records.ts'
import { AR_SETTINGS } from './ar/settings.ts'
import { AR_SUPPORT } from './ar/support.ts'
import { AR_WORDS } from './ar/words.ts'
import { EN, type Texts } from './en.ts'

export const AR: Texts = {
  ...EN,
  ...AR_FRAME,
  ...AR_PAYMENTS,
  ...AR_DEVELOPERS,
  ...AR_WORDS,
  ...AR_EVENTS,
  ...AR_FINANCE,
  ...AR_DECISIONS,
  ...AR_KEYS,
  ...AR_MONEY,
  ...AR_OPS,
  ...AR_PEOPLE,
  ...AR_RECORDS,
  ...AR_SETTINGS,
  ...AR_SUPPORT,
}
