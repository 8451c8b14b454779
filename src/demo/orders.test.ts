import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPhone } from '../kit/phone.ts'
import { planOrders, startOf } from './orders.ts'

const PLAN = { seed: 3, months: 3, payments: 1_500, nowMs: Date.parse('2026-11-17T14:00:00Z') }
const orders = planOrders(PLAN)

describe('the orders of the demo', () => {
  it('plans the same orders for the same seed, and others for another', () => {
    const facts = (plan: typeof PLAN) =>
      planOrders(plan).map(
        ({ atMs, amount, person, kind }) => `${atMs} ${amount.minor} ${person.email} ${kind}`,
      )
    assert.deepEqual(facts(PLAN), facts(PLAN))
    assert.notDeepEqual(facts(PLAN), facts({ ...PLAN, seed: 4 }))
  })

  it('plans every order within the period, in the order of time', () => {
    const times = orders.map(({ atMs }) => atMs)
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    assert.ok(times.every((atMs) => atMs >= startOf(PLAN) && atMs < PLAN.nowMs))
  })

  it('plans more orders on Fridays than on Sundays, and more at the end than at the beginning', () => {
    const on = (weekday: number) => orders.filter(({ atMs }) => new Date(atMs).getUTCDay() === weekday).length
    assert.ok(on(5) > 1.5 * on(0))
    const middleMs = (startOf(PLAN) + PLAN.nowMs) / 2
    const late = orders.filter(({ atMs }) => atMs > middleMs).length
    assert.ok(late > 0.53 * orders.length)
  })

  it('gives payers of mobile money a number that a prompt can be sent to', () => {
    const phones = orders.filter(({ person }) => person.network !== null).map(({ person }) => person.phone)
    assert.deepEqual(
      phones.filter((phone) => readPhone(phone, null)?.e164 !== phone),
      [],
    )
  })
})
