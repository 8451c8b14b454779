import type { MethodRow } from '../customers/method-queries.ts'
import type { AttemptRow } from './attempt-queries.ts'
import type { PaymentRow } from './queries.ts'

/** A payment with the attempt in question, as last seen. */
export interface Known {
  payment: PaymentRow
  attempt: AttemptRow
  method?: MethodRow | null
}
