import { Type } from 'typebox'
import { CURRENCY_CODES } from '../../core/currency.ts'
import { Enum } from '../../kit/http/schema.ts'
import { type Envelope, requireSuccess } from '../api.ts'
import { readTool } from '../tool.ts'

interface Balance {
  currency: string
  availableBalance: string
  pendingBalance: string
}

export const walletBalance = readTool({
  name: 'wallet_balance',
  title: 'Read the wallet balance',
  description:
    'The available and the pending balance of each currency. Pending money is collected and not settled yet; currencies are never added together.',
  scopes: ['wallet:read'],
  input: { currency: Type.Optional(Enum(CURRENCY_CODES, { description: 'Only this one.' })) },
  async run({ call, publicUrl }, { currency }) {
    const path = '/api/v1/wallet/balance'
    const { data }: Envelope<Balance & { balances: Balance[]; updatedAt: string }> = await requireSuccess(
      call,
      { method: 'GET', path, query: { currency } },
    )
    const balances = currency === undefined ? data.balances : [balanceOf(data)]
    const words = balances.map(
      (one) => `${one.currency} ${one.availableBalance} available, ${one.pendingBalance} pending`,
    )
    return {
      headline: balances.length === 0 ? 'The wallet is empty.' : `${words.join('; ')}.`,
      data: { balances, updatedAt: data.updatedAt, api: `${publicUrl}${path}` },
    }
  },
})

const balanceOf = ({ currency, availableBalance, pendingBalance }: Balance) => ({
  currency,
  availableBalance,
  pendingBalance,
})
