// Portuguese. The texts are machine-drafted and not yet reviewed by a native speaker. English stands where a text is
// missing, which a test reports.

import { EN, type Texts } from './en.ts'
import { PT_DECISIONS } from './pt/decisions.ts'
import { PT_DEVELOPERS } from './pt/developers.ts'
import { PT_EVENTS } from './pt/events.ts'
import { PT_FINANCE } from './pt/finance.ts'
import { PT_FRAME } from './pt/frame.ts'
import { PT_KEYS } from './pt/keys.ts'
import { PT_MONEY } from './pt/money.ts'
import { PT_OPS } from './pt/ops.ts'
import { PT_PAYMENTS } from './pt/payments.ts'
import { PT_PEOPLE } from './pt/people.ts'
import { PT_RECORDS } from './pt/records.ts'
import { PT_SETTINGS } from './pt/settings.ts'
import { PT_SUPPORT } from './pt/support.ts'
import { PT_WORDS } from './pt/words.ts'

export const PT: Texts = {
  ...EN,
  ...PT_FRAME,
  ...PT_PAYMENTS,
  ...PT_DEVELOPERS,
  ...PT_WORDS,
  ...PT_EVENTS,
  ...PT_FINANCE,
  ...PT_DECISIONS,
  ...PT_KEYS,
  ...PT_MONEY,
  ...PT_OPS,
  ...PT_PEOPLE,
  ...PT_RECORDS,
  ...PT_SETTINGS,
  ...PT_SUPPORT,
}
