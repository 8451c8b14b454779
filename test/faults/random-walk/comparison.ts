// After each stretch: the wallet of every shop is what the model says, and so is a sample of everything else.

import assert from 'node:assert/strict'
import { isCollected, type Link, linkStatus, paymentsOf, purseOf, readMinor, worthOfAll } from './model.ts'
import { pendingOf } from './purse.ts'
import { pathOf } from './rest.ts'
import {
  CHECKOUT_CURRENCIES,
  draw,
  drawPayment,
  isSteady,
  isSteadyLink,
  requireAsBelieved,
  type Shown,
} from './turns.ts'
import { ask, type Turn } from './world.ts'

/** How often the two balances were known each by itself, and how often only their sum was. */
export const precision = { exact: 0, sums: 0 }

export async function compareWallet(turn: Turn): Promise<void> {
  const { shop } = turn
  const { body } = await ask(turn, 'GET', '/api/v1/wallet/balance')
  const shown: Shown[] = body.data.balances
  assert.equal(
    shown.find(({ currency }) => currency === 'SSP'),
    undefined,
    'money that was sent to the merchant is in no balance',
  )
  for (const currency of CHECKOUT_CURRENCIES) {
    const balance = shown.find((one) => one.currency === currency)
    const available = readMinor(balance?.availableBalance ?? null, currency)
    const pending = readMinor(balance?.pendingBalance ?? null, currency)
    const purse = purseOf(shop, currency)
    assert.equal(available + pending, worthOfAll(shop, currency), `${shop.name} has so much ${currency}`)
    precision[purse.isExact ? 'exact' : 'sums'] += 1
    if (!purse.isExact) continue
    const believed = { available: purse.available, pending: pendingOf(purse) }
    assert.deepEqual({ available, pending }, believed, `${shop.name}, ${currency}`)
  }
}

const SAMPLE = 4

export async function compareSample(turn: Turn): Promise<void> {
  const calm = { ...turn, isCalm: true }
  for (let drawn = 0; drawn < SAMPLE; drawn += 1) {
    const payment = drawPayment(calm, (one) => isSteady(calm, one))
    if (payment) requireAsBelieved(payment, (await ask(turn, 'GET', pathOf(payment))).body.data)
  }
  const link = draw(calm, turn.shop.links, (one) => isSteadyLink(calm, one))
  if (link) requireLink(turn, link, (await ask(turn, 'GET', `/api/v1/payment-links/${link.uuid}`)).body.data)
}

export function requireLink({ shop, world }: Turn, link: Link, shown: Shown): void {
  const paid = paymentsOf(shop, link).filter(isCollected)
  const told = {
    status: shown.status,
    payments: shown.paymentsCount,
    collected: readMinor(shown.amountCollected, link.currency),
  }
  const believed = {
    status: linkStatus(shop, link, world.clock.now().getTime()),
    payments: paid.length,
    collected: paid.reduce((sum, { minor }) => sum + minor, 0n),
  }
  assert.deepEqual(told, believed, `link ${link.uuid}`)
}
