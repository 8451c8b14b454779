// Commands of shops on their customers and saved methods.

import assert from 'node:assert/strict'
import {
  type Command,
  draw,
  drawPerson,
  findCustomer,
  findOrAddCustomer,
  newName,
} from './command-context.ts'
import type { Customer, Method } from './model.ts'
import { assertPredicted, type CommandContext, sendRequest } from './world.ts'

const CUSTOMERS = '/api/v1/customers'

async function create(context: CommandContext): Promise<void> {
  const { shop, prng, world } = context
  const isNew = prng.nextBool(0.5)
  const person = isNew
    ? { ...drawPerson(context), email: `${newName('guest')}@${shop.name}.example` }
    : drawPerson(context)
  const key = newName('key')
  const answer = await sendRequest(context, 'POST', CUSTOMERS, person, { 'idempotency-key': key })
  const expected = findCustomer(shop, person.email) ? '409 customer_exists' : '201 active'
  assertPredicted(context, answer, expected, ['201 active', '409 customer_exists'])
  if (answer.http !== 201) return
  const { uuid, email } = answer.body.data
  findOrAddCustomer(context, { uuid, email })
  shop.sent.push({ path: CUSTOMERS, body: person, key, uuid, at: world.clock.now().getTime() })
}

const drawCustomer = (context: CommandContext) => draw(context, [...context.shop.customers.values()])

async function change(context: CommandContext): Promise<void> {
  const { shop, prng } = context
  const customer = drawCustomer(context)
  if (!customer) return create(context)
  const kind = prng.nextInt(3)
  const email = kind === 0 ? `${newName('moved')}@${shop.name}.example` : drawPerson(context).email
  const body = kind === 2 ? { firstname: newName('Amina'), metadata: { tier: newName('tier') } } : { email }
  const holder = kind === 2 ? undefined : findCustomer(shop, email)
  const answer = await sendRequest(context, 'PATCH', `${CUSTOMERS}/${customer.uuid}`, body)
  const isTaken = holder !== undefined && holder !== customer
  assertPredicted(context, answer, isTaken ? '409 customer_exists' : `200 ${statusOf(customer)}`)
  if (answer.http === 200 && kind !== 2) customer.email = email
}

const statusOf = ({ isBlocked }: Customer) => (isBlocked ? 'blocked' : 'active')

/** Blocked customers are unblocked soon, so that the walk continues. */
async function block(context: CommandContext): Promise<void> {
  const { shop, prng, isSequential } = context
  const blocked = [...shop.customers.values()].find(({ isBlocked }) => isBlocked)
  const customer = blocked && prng.nextBool(0.7) ? blocked : drawCustomer(context)
  if (!customer) return create(context)
  const isBlocked = customer === blocked ? false : prng.nextBool(0.5)
  const path = `${CUSTOMERS}/${customer.uuid}/${isBlocked ? 'block' : 'unblock'}`
  if (!isSequential) shop.uncertainCustomers.add(customer)
  const answer = await sendRequest(context, 'POST', path, {})
  assertPredicted(context, answer, isBlocked ? '200 blocked' : '200 active')
  customer.isBlocked = isBlocked
}

const pathTo = ({ customer, uuid }: Method) => `${CUSTOMERS}/${customer.uuid}/payment-methods/${uuid}`

async function revoke(context: CommandContext): Promise<void> {
  const method = draw(context, context.shop.methods)
  if (!method) return
  assertPredicted(context, await sendRequest(context, 'DELETE', pathTo(method)), '200 revoked')
  method.isRevoked = true
}

async function makeDefault(context: CommandContext): Promise<void> {
  const method = draw(context, context.shop.methods)
  if (!method) return
  const answer = await sendRequest(context, 'POST', `${pathTo(method)}/default`, {})
  const expected = method.isRevoked ? '409 invalid_state' : '200 active'
  assertPredicted(context, answer, expected, ['409 invalid_state'])
  if (answer.http === 200) assert.equal(answer.body.data.isDefault, true)
}

async function readMethods(context: CommandContext): Promise<void> {
  const customer = drawCustomer(context)
  if (!customer) return
  const answer = await sendRequest(context, 'GET', `${CUSTOMERS}/${customer.uuid}/payment-methods`)
  assertPredicted(context, answer, '200')
  const defaults = answer.body.data.filter((one: { isDefault: boolean }) => one.isDefault)
  const active = answer.body.data.filter((one: { status: string }) => one.status === 'active')
  assert.equal(defaults.length, active.length > 0 ? 1 : 0, 'a customer with methods has one default')
}

export const CUSTOMER_COMMANDS: readonly Command[] = [
  { name: 'create-customer', weight: 2, run: create },
  { name: 'change-customer', weight: 1, run: change, only: 'sequential' },
  { name: 'block-customer', weight: 2.5, run: block },
  { name: 'revoke-method', weight: 1.5, run: revoke },
  { name: 'choose-default', weight: 1, run: makeDefault },
  { name: 'read-methods', weight: 1, run: readMethods },
]
