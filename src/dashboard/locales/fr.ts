// French. The texts are machine-drafted and not yet reviewed by a native speaker. English stands where a text is
// missing, which a test reports.

import { EN, type Texts } from './en.ts'
import { FR_DECISIONS } from './fr/decisions.ts'
import { FR_DEVELOPERS } from './fr/developers.ts'
import { FR_EVENTS } from './fr/events.ts'
import { FR_FINANCE } from './fr/finance.ts'
import { FR_FRAME } from './fr/frame.ts'
import { FR_KEYS } from './fr/keys.ts'
import { FR_MONEY } from './fr/money.ts'
import { FR_OPS } from './fr/ops.ts'
import { FR_PAYMENTS } from './fr/payments.ts'
import { FR_PEOPLE } from './fr/people.ts'
import { FR_RECORDS } from './fr/records.ts'
import { FR_SETTINGS } from './fr/settings.ts'
import { FR_SUPPORT } from './fr/support.ts'
import { FR_WORDS } from './fr/words.ts'

export const FR: Texts = {
  ...EN,
  ...FR_FRAME,
  ...FR_PAYMENTS,
  ...FR_DEVELOPERS,
  ...FR_WORDS,
  ...FR_EVENTS,
  ...FR_FINANCE,
  ...FR_DECISIONS,
  ...FR_KEYS,
  ...FR_MONEY,
  ...FR_OPS,
  ...FR_PEOPLE,
  ...FR_RECORDS,
  ...FR_SETTINGS,
  ...FR_SUPPORT,
}
