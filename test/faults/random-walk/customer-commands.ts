// What shops do with their customers and with the methods that these have saved.

import assert from 'node:assert/strict'
import type { Customer, Method } from './model.ts'
import { type Command, draw, drawPerson, findCustomer, meet, newName } from './turns.ts'
import { ask, judge, type Turn } from './world.ts'

const CUSTOMERS = '/api/v1/customers'

async function create(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const isNew = chance.happens(0.5)
  const person = isNew
    ? { ...drawPerson(turn), email: `${newName('guest')}@${shop.name}.example` }
    : drawPerson(turn)
  const key = newName('key')
  const answer = await ask(turn, 'POST', CUSTOMERS, person, { 'idempotency-key': key })
  const told = findCustomer(shop, person.email) ? '409 customer_exists' : '201 active'
  judge(turn, answer, told, ['201 active', '409 customer_exists'])
  if (answer.http !== 201) return
  const { uuid, email } = answer.body.data
  meet(turn, { uuid, email })
  shop.sent.push({ path: CUSTOMERS, body: person, key, uuid, at: world.clock.now().getTime() })
}

const drawCustomer = (turn: Turn) => draw(turn, [...turn.shop.customers.values()])

async function change(turn: Turn): Promise<void> {
  const { shop, chance } = turn
  const customer = drawCustomer(turn)
  if (!customer) return create(turn)
  const kind = chance.below(3)
  const email = kind === 0 ? `${newName('moved')}@${shop.name}.example` : drawPerson(turn).email
  const body = kind === 2 ? { firstname: newName('Amina'), metadata: { tier: newName('tier') } } : { email }
  const holder = kind === 2 ? undefined : findCustomer(shop, email)
  const answer = await ask(turn, 'PATCH', `${CUSTOMERS}/${customer.uuid}`, body)
  const isTaken = holder !== undefined && holder !== customer
  judge(turn, answer, isTaken ? '409 customer_exists' : `200 ${statusOf(customer)}`)
  if (answer.http === 200 && kind !== 2) customer.email = email
}

const statusOf = ({ isBlocked }: Customer) => (isBlocked ? 'blocked' : 'active')

/** Blocked people are let in again soon, so that the walk goes on. */
async function block(turn: Turn): Promise<void> {
  const { shop, chance, isCalm } = turn
  const blocked = [...shop.customers.values()].find(({ isBlocked }) => isBlocked)
  const customer = blocked && chance.happens(0.7) ? blocked : drawCustomer(turn)
  if (!customer) return create(turn)
  const isBlocked = customer === blocked ? false : chance.happens(0.5)
  const path = `${CUSTOMERS}/${customer.uuid}/${isBlocked ? 'block' : 'unblock'}`
  if (!isCalm) shop.touchedCustomers.add(customer)
  const answer = await ask(turn, 'POST', path, {})
  judge(turn, answer, isBlocked ? '200 blocked' : '200 active')
  customer.isBlocked = isBlocked
}

const pathTo = ({ customer, uuid }: Method) => `${CUSTOMERS}/${customer.uuid}/payment-methods/${uuid}`

async function revoke(turn: Turn): Promise<void> {
  const method = draw(turn, turn.shop.methods)
  if (!method) return
  judge(turn, await ask(turn, 'DELETE', pathTo(method)), '200 revoked')
  method.isRevoked = true
}

async function makeDefault(turn: Turn): Promise<void> {
  const method = draw(turn, turn.shop.methods)
  if (!method) return
  const answer = await ask(turn, 'POST', `${pathTo(method)}/default`, {})
  const told = method.isRevoked ? '409 invalid_state' : '200 active'
  judge(turn, answer, told, ['409 invalid_state'])
  if (answer.http === 200) assert.equal(answer.body.data.isDefault, true)
}

async function readMethods(turn: Turn): Promise<void> {
  const customer = drawCustomer(turn)
  if (!customer) return
  const answer = await ask(turn, 'GET', `${CUSTOMERS}/${customer.uuid}/payment-methods`)
  judge(turn, answer, '200')
  const defaults = answer.body.data.filter((one: { isDefault: boolean }) => one.isDefault)
  const active = answer.body.data.filter((one: { status: string }) => one.status === 'active')
  assert.equal(defaults.length, active.length > 0 ? 1 : 0, 'who has methods has one default')
}

export const CUSTOMER_COMMANDS: readonly Command[] = [
  { name: 'create-customer', weight: 2, run: create },
  { name: 'change-customer', weight: 1, run: change, only: 'calm' },
  { name: 'block-customer', weight: 2.5, run: block },
  { name: 'revoke-method', weight: 1.5, run: revoke },
  { name: 'choose-default', weight: 1, run: makeDefault },
  { name: 'read-methods', weight: 1, run: readMethods },
]
