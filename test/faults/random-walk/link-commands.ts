// Links: made, visited, changed and switched off. Who visits one begins an ordinary checkout.

import assert from 'node:assert/strict'
import { fillIn } from '../../support/links.ts'
import { createPayer } from '../../support/payer.ts'
import { play } from './checkout-commands.ts'
import { type Link, linkStatus, type Payment, placesOf, toMajor } from './model.ts'
import {
  addPayment,
  CHECKOUT_CURRENCIES,
  type Command,
  draw,
  drawMinor,
  drawPerson,
  isBlocked,
  isSteadyLink,
  newName,
} from './turns.ts'
import { ask, judge, note, type Turn } from './world.ts'

const LINKS = '/api/v1/payment-links'

type Usage = 'single' | 'multi' | 'limited'

async function create(turn: Turn): Promise<void> {
  await createLink(turn, turn.chance.pick<Usage>(['single', 'multi', 'limited']) ?? 'multi')
}

async function createLink(turn: Turn, usage: Usage): Promise<Link> {
  const { shop, chance, world } = turn
  const currency = chance.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = chance.happens(0.8) ? drawMinor(chance, currency) : null
  const maxPayments = usage === 'single' ? 1 : usage === 'limited' ? 1 + chance.below(5) : null
  const hours = 1 + chance.below(60)
  const expiresAt = chance.happens(0.3) ? world.clock.now().getTime() + hours * 3_600_000 : null
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
  const answer = await ask(turn, 'POST', LINKS, body, { 'idempotency-key': key })
  judge(turn, answer, '201 active')
  const { uuid, url } = answer.body.data
  const link: Link = { uuid, url, minor, currency, maxPayments, isDeactivated: false, expiresAt }
  shop.links.push(link)
  shop.sent.push({ path: LINKS, body, key, uuid, at: world.clock.now().getTime() })
  return link
}

/** Fills the form of a link in; the payment that it begins is one like any other. */
async function visit(turn: Turn): Promise<void> {
  const { shop, chance } = turn
  const isOpen = (link: Link) => isSteadyLink(turn, link) && (chance.happens(0.15) || isActive(turn, link))
  const link = draw(turn, shop.links, isOpen)
  if (!link) return create(turn)
  await visitLink(turn, link)
}

async function visitLink(turn: Turn, link: Link): Promise<Payment | undefined> {
  const { shop, chance, isCalm } = turn
  const minor = link.minor ?? drawMinor(chance, link.currency)
  const person = drawPerson(turn)
  const isExpected = isActive(turn, link) && hasRoom(turn, link) && !isBlocked(shop, person.email)
  const payer = createPayer()
  const page = await payer.open(link.url)
  assert.ok(page.http < 500, page.html)
  const isForm = page.html.includes('<form method="post"')
  const amount = String(toMajor(minor, link.currency))
  const { http, location } = isForm ? await fillIn(payer, page, { ...person, amount }) : page
  note(turn, `visits ${link.uuid}: ${http} ${location}`)
  assert.ok(http < 500, 'a visit never fails for our sake')
  const begun = location !== null && new URL(location).pathname.startsWith('/pay/') ? location : null
  if (isCalm) assert.equal(begun !== null, isExpected, `a visit to ${link.uuid} begins a payment`)
  if (begun === null) return undefined
  const path = `${LINKS}/${link.uuid}/payments?limit=100`
  const { body } = await ask(turn, 'GET', path)
  const accessCode = new URL(begun).pathname.split('/')[2]
  const shown = body.data.find((one: { accessCode: string }) => one.accessCode === accessCode)
  assert.ok(shown, 'what was begun at a link is listed there')
  note(turn, `begins ${shown.reference} at ${link.uuid}`)
  const facts = { currency: link.currency, minor, email: person.email, link }
  return addPayment(turn, shown, { kind: 'checkout', ...facts })
}

const CROWD = 5

/** More people at once than the link may have. */
async function crowd(turn: Turn): Promise<void> {
  const link = await createLink(turn, turn.chance.pick<Usage>(['single', 'limited']) ?? 'single')
  const turns = Array.from({ length: CROWD }, () => ({ ...turn, chance: turn.chance.branch() }))
  turn.world.operations += CROWD
  const begun = await Promise.all(turns.map((one) => visitLink(one, link)))
  await Promise.all(
    turns.map(async (one, index) => {
      const payment = begun[index]
      if (payment) await play(one, payment, one.chance.happens(0.8) ? 'card_success' : 'card_declined')
    }),
  )
}

const isActive = ({ shop, world }: Turn, link: Link) =>
  linkStatus(shop, link, world.clock.now().getTime()) === 'active'

function hasRoom({ shop }: Turn, link: Link): boolean {
  const { paid, held } = placesOf(shop, link)
  return link.maxPayments === null || paid + held < link.maxPayments
}

async function deactivate(turn: Turn): Promise<void> {
  const { shop, world } = turn
  const link = draw(turn, shop.links, (one) => isSteadyLink(turn, one))
  if (!link) return create(turn)
  link.isDeactivated = true
  const answer = await ask(turn, 'POST', `${LINKS}/${link.uuid}/deactivate`, {})
  const told = `200 ${linkStatus(shop, link, world.clock.now().getTime())}`
  judge(turn, answer, told, ['200 inactive', '200 completed'])
}

/** More places, or fewer; never fewer than are taken. */
async function change(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const link = draw(turn, shop.links, (one) => isSteadyLink(turn, one) && (one.maxPayments ?? 2) > 1)
  if (!link) return create(turn)
  const maxPayments = 2 + chance.below(6)
  const { paid, held } = placesOf(shop, link)
  const isPossible = maxPayments >= paid + held
  const changed = { ...link, maxPayments }
  const status = linkStatus(shop, link, world.clock.now().getTime())
  const answer = await ask(turn, 'PATCH', `${LINKS}/${link.uuid}`, { maxPayments })
  const after = paid >= maxPayments ? 'completed' : status === 'completed' ? statusOf(turn, changed) : status
  judge(turn, answer, isPossible ? `200 ${after}` : '409 invalid_state')
  if (isPossible) link.maxPayments = maxPayments
}

/** Of a link that has room again. */
function statusOf({ world }: Turn, link: Link): string {
  if (link.isDeactivated) return 'inactive'
  return link.expiresAt !== null && link.expiresAt <= world.clock.now().getTime() ? 'expired' : 'active'
}

export const LINK_COMMANDS: readonly Command[] = [
  { name: 'create-link', weight: 3, run: create },
  { name: 'visit-link', weight: 6, run: visit },
  { name: 'crowd', weight: 2, run: crowd, only: 'storm' },
  { name: 'deactivate-link', weight: 0.7, run: deactivate },
  { name: 'change-link', weight: 1, run: change, only: 'calm' },
]
