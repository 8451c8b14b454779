// Payment links: created, visited, changed and deactivated. A visit starts an ordinary checkout.

import assert from 'node:assert/strict'
import { fillIn } from '../../support/links.ts'
import { createPayer } from '../../support/payer.ts'
import { completeWith } from './checkout-commands.ts'
import {
  addPayment,
  CHECKOUT_CURRENCIES,
  type Command,
  draw,
  drawMinor,
  drawPerson,
  isBlocked,
  isPredictableLink,
  newName,
} from './command-context.ts'
import { type Link, linkStatus, type Payment, slotsOf, toMajor } from './model.ts'
import { assertPredicted, type CommandContext, logRequest, sendRequest } from './world.ts'

const LINKS = '/api/v1/payment-links'

type Usage = 'single' | 'multi' | 'limited'

async function create(context: CommandContext): Promise<void> {
  await createLink(context, context.prng.pick<Usage>(['single', 'multi', 'limited']) ?? 'multi')
}

async function createLink(context: CommandContext, usage: Usage): Promise<Link> {
  const { shop, prng, world } = context
  const currency = prng.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = prng.nextBool(0.8) ? drawMinor(prng, currency) : null
  const maxPayments = usage === 'single' ? 1 : usage === 'limited' ? 1 + prng.nextInt(5) : null
  const hours = 1 + prng.nextInt(60)
  const expiresAt = prng.nextBool(0.3) ? world.clock.now().getTime() + hours * 3_600_000 : null
  const body = {
    title: newName('Ticket'),
    currency,
    ...(currency === 'XOF' && { country: 'SN' }),
    ...(minor !== null && { amount: toMajor(minor, currency) }),
    usage: usage === 'single' ? 'single' : 'multi',
    ...(usage === 'limited' && { maxPayments }),
    ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
  }
  const key = newName('key')
  const answer = await sendRequest(context, 'POST', LINKS, body, { 'idempotency-key': key })
  assertPredicted(context, answer, '201 active')
  const { uuid, url } = answer.body.data
  const link: Link = { uuid, url, minor, currency, maxPayments, isDeactivated: false, expiresAt }
  shop.links.push(link)
  shop.sent.push({ path: LINKS, body, key, uuid, at: world.clock.now().getTime() })
  return link
}

/** Submits the form of a link; the payment that it starts is an ordinary one. */
async function visit(context: CommandContext): Promise<void> {
  const { shop, prng } = context
  const isOpen = (link: Link) =>
    isPredictableLink(context, link) && (prng.nextBool(0.15) || isActive(context, link))
  const link = draw(context, shop.links, isOpen)
  if (!link) return create(context)
  await visitLink(context, link)
}

async function visitLink(context: CommandContext, link: Link): Promise<Payment | undefined> {
  const { shop, prng, isSequential } = context
  const minor = link.minor ?? drawMinor(prng, link.currency)
  const person = drawPerson(context)
  const isExpected = isActive(context, link) && hasFreeSlot(context, link) && !isBlocked(shop, person.email)
  const payer = createPayer()
  const page = await payer.open(link.url)
  assert.ok(page.http < 500, page.html)
  const isForm = page.html.includes('<form method="post"')
  const amount = String(toMajor(minor, link.currency))
  const { http, location } = isForm ? await fillIn(payer, page, { ...person, amount }) : page
  logRequest(context, `visits ${link.uuid}: ${http} ${location}`)
  assert.ok(http < 500, 'a visit never fails with 5xx')
  const checkoutUrl = location !== null && new URL(location).pathname.startsWith('/pay/') ? location : null
  if (isSequential) assert.equal(checkoutUrl !== null, isExpected, `a visit to ${link.uuid} begins a payment`)
  if (checkoutUrl === null) return undefined
  const path = `${LINKS}/${link.uuid}/payments?limit=100`
  const { body } = await sendRequest(context, 'GET', path)
  const accessCode = new URL(checkoutUrl).pathname.split('/')[2]
  const shown = body.data.find((one: { accessCode: string }) => one.accessCode === accessCode)
  assert.ok(shown, 'a payment that was started at a link is listed there')
  logRequest(context, `begins ${shown.reference} at ${link.uuid}`)
  const facts = { currency: link.currency, minor, email: person.email, link }
  return addPayment(context, shown, { kind: 'checkout', ...facts })
}

const CONCURRENT_VISITS = 5

/** More concurrent payers than the link allows. */
async function visitConcurrently(context: CommandContext): Promise<void> {
  const link = await createLink(context, context.prng.pick<Usage>(['single', 'limited']) ?? 'single')
  const contexts = Array.from({ length: CONCURRENT_VISITS }, () => ({
    ...context,
    prng: context.prng.fork(),
  }))
  context.world.operations += CONCURRENT_VISITS
  const payments = await Promise.all(contexts.map((one) => visitLink(one, link)))
  await Promise.all(
    contexts.map(async (one, index) => {
      const payment = payments[index]
      if (payment) await completeWith(one, payment, one.prng.nextBool(0.8) ? 'card_success' : 'card_declined')
    }),
  )
}

const isActive = ({ shop, world }: CommandContext, link: Link) =>
  linkStatus(shop, link, world.clock.now().getTime()) === 'active'

function hasFreeSlot({ shop }: CommandContext, link: Link): boolean {
  const { paid, reserved } = slotsOf(shop, link)
  return link.maxPayments === null || paid + reserved < link.maxPayments
}

async function deactivate(context: CommandContext): Promise<void> {
  const { shop, world } = context
  const link = draw(context, shop.links, (one) => isPredictableLink(context, one))
  if (!link) return create(context)
  link.isDeactivated = true
  const answer = await sendRequest(context, 'POST', `${LINKS}/${link.uuid}/deactivate`, {})
  const expected = `200 ${linkStatus(shop, link, world.clock.now().getTime())}`
  assertPredicted(context, answer, expected, ['200 inactive', '200 completed'])
}

/** More slots, or fewer; never fewer than are reserved. */
async function change(context: CommandContext): Promise<void> {
  const { shop, prng, world } = context
  const link = draw(
    context,
    shop.links,
    (one) => isPredictableLink(context, one) && (one.maxPayments ?? 2) > 1,
  )
  if (!link) return create(context)
  const maxPayments = 2 + prng.nextInt(6)
  const { paid, reserved } = slotsOf(shop, link)
  const isPossible = maxPayments >= paid + reserved
  const changed = { ...link, maxPayments }
  const status = linkStatus(shop, link, world.clock.now().getTime())
  const answer = await sendRequest(context, 'PATCH', `${LINKS}/${link.uuid}`, { maxPayments })
  const after =
    paid >= maxPayments ? 'completed' : status === 'completed' ? statusOf(context, changed) : status
  assertPredicted(context, answer, isPossible ? `200 ${after}` : '409 invalid_state')
  if (isPossible) link.maxPayments = maxPayments
}

/** The status of a link with free slots. */
function statusOf({ world }: CommandContext, link: Link): string {
  if (link.isDeactivated) return 'inactive'
  return link.expiresAt !== null && link.expiresAt <= world.clock.now().getTime() ? 'expired' : 'active'
}

export const LINK_COMMANDS: readonly Command[] = [
  { name: 'create-link', weight: 3, run: create },
  { name: 'visit-link', weight: 6, run: visit },
  { name: 'visit-concurrently', weight: 2, run: visitConcurrently, only: 'concurrent' },
  { name: 'deactivate-link', weight: 0.7, run: deactivate },
  { name: 'change-link', weight: 1, run: change, only: 'sequential' },
]
