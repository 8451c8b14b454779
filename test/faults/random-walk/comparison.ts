// After each phase: the wallet of every shop agrees with the model, and so does a sample of the other records.

import assert from 'node:assert/strict'
import { pendingOf } from './balances.ts'
import {
  type ApiRecord,
  assertMatchesModel,
  CHECKOUT_CURRENCIES,
  draw,
  drawPayment,
  isFarFromExpiry,
  isPredictableLink,
} from './command-context.ts'
import {
  isCollected,
  type Link,
  linkStatus,
  modelBalanceOf,
  netOfAll,
  paymentsOf,
  readMinor,
} from './model.ts'
import { pathOf } from './quiescence.ts'
import { type CommandContext, sendRequest } from './world.ts'

/** How often both balances were known exactly, and how often only their sum was. */
export const precision = { exact: 0, sums: 0 }

export async function compareWallet(context: CommandContext): Promise<void> {
  const { shop } = context
  const { body } = await sendRequest(context, 'GET', '/api/v1/wallet/balance')
  const shown: ApiRecord[] = body.data.balances
  assert.equal(
    shown.find(({ currency }) => currency === 'SSP'),
    undefined,
    'a payment directly to the merchant is in no balance',
  )
  for (const currency of CHECKOUT_CURRENCIES) {
    const balance = shown.find((one) => one.currency === currency)
    const available = readMinor(balance?.availableBalance ?? null, currency)
    const pending = readMinor(balance?.pendingBalance ?? null, currency)
    const modelBalance = modelBalanceOf(shop, currency)
    assert.equal(available + pending, netOfAll(shop, currency), `${shop.name} has so much ${currency}`)
    precision[modelBalance.isExact ? 'exact' : 'sums'] += 1
    if (!modelBalance.isExact) continue
    const expected = { available: modelBalance.available, pending: pendingOf(modelBalance) }
    assert.deepEqual({ available, pending }, expected, `${shop.name}, ${currency}`)
  }
}

const SAMPLE = 4

export async function compareSample(context: CommandContext): Promise<void> {
  const sequential = { ...context, isSequential: true }
  for (let drawn = 0; drawn < SAMPLE; drawn += 1) {
    const payment = drawPayment(sequential, (one) => isFarFromExpiry(sequential, one))
    if (payment) assertMatchesModel(payment, (await sendRequest(context, 'GET', pathOf(payment))).body.data)
  }
  const link = draw(sequential, context.shop.links, (one) => isPredictableLink(sequential, one))
  if (link)
    assertLink(
      context,
      link,
      (await sendRequest(context, 'GET', `/api/v1/payment-links/${link.uuid}`)).body.data,
    )
}

export function assertLink({ shop, world }: CommandContext, link: Link, shown: ApiRecord): void {
  const paid = paymentsOf(shop, link).filter(isCollected)
  const actual = {
    status: shown.status,
    payments: shown.paymentsCount,
    collected: readMinor(shown.amountCollected, link.currency),
  }
  const expected = {
    status: linkStatus(shop, link, world.clock.now().getTime()),
    payments: paid.length,
    collected: paid.reduce((sum, { minor }) => sum + minor, 0n),
  }
  assert.deepEqual(actual, expected, `link ${link.uuid}`)
}
