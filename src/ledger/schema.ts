import type { Static } from 'typebox'
import {
  amountText,
  CurrencyCode,
  count,
  described,
  namedObject,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'

/** The data of wallet.settled. */
export const SettlementRecord = namedObject(
  'Settlement',
  {
    uuid: described(Uuid, 'The id of the settlement.'),
    currency: CurrencyCode,
    amount: amountText('What became available.'),
    payments: count('The number of payments whose money became available.'),
    settledAt: timestamp('When it became available, in UTC.'),
  },
  { description: 'Money that moved from pending to available.' },
)
export type SettlementRecord = Static<typeof SettlementRecord>
