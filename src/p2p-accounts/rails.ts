// The rails of a merchant's receiving accounts, which the P2P gateway declares, and the choice of the account for a new
// transfer.

import type { Currency } from '../core/currency.ts'
import type { CheckoutChoice, DirectChannel, Rail } from '../gateways/gateway.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import type { AccountChannel, AccountRow } from './account.ts'
import { findMatchingAccount, listRails, type RailRow } from './queries.ts'

export const DIRECT_CHANNELS: Readonly<Record<AccountChannel, DirectChannel>> = {
  bank_transfer: 'direct_bank_transfer',
  mobile_money: 'direct_mobile_money',
}

/** The rails of each merchant, those of its oldest account first. */
export async function loadRails(db: Db, merchantIds: readonly string[]): Promise<Rail[][]> {
  return (await listRails(db, merchantIds)).map((rows) => rows.map(toRail))
}

function toRail({ channel, currency, country }: RailRow): Rail {
  const channels = [DIRECT_CHANNELS[channel]]
  return country === null ? { currency, channels } : { currency, countries: [country], channels }
}

interface Wanted {
  channel: AccountChannel
  currency: Currency
  country: string | null
}

/** Locks the account against a delete until the transaction ends. */
export function lockMatchingAccount(
  tx: Tx,
  merchantId: string,
  { channel, currency, country }: Wanted,
): Promise<AccountRow | undefined> {
  return findMatchingAccount(tx, merchantId, channel, currency, country)
}

export function accountChannelOf({ channel }: CheckoutChoice): AccountChannel {
  return channel === DIRECT_CHANNELS.mobile_money ? 'mobile_money' : 'bank_transfer'
}
