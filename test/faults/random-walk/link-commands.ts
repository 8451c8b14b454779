// Links: made, visited, changed and switched off. Who visits one begins an ordinary checkout.

import assert from 'node:assert/strict'
import { fillIn } from '../../support/links.ts'
import { createPayer } from '../../support/payer.ts'
import { type Link, linkStatus, placesOf, toMajor } from './model.ts'
import {
  addPayment,
  CHECKOUT_CURRENCIES,
  type Command,
  draw,
  drawMinor,
  drawPerson,
  isBlocked,
  isSteady,
  newName,
} from './turns.ts'
import { ask, judge, note, type Turn } from './world.ts'

const LINKS = '/api/v1/payment-links'

async function create(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const currency = chance.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = chance.happens(0.8) ? drawMinor(chance, currency) : null
  const usage = chance.pick(['single', 'multi', 'limited'])
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
  shop.links.push({ uuid, url, minor, currency, maxPayments, isDeactivated: false, expiresAt })
  shop.sent.push({ path: LINKS, body, key, uuid, at: world.clock.now().getTime() })
}

/** Fills the form of a link in; the payment that it begins is one like any other. */
async function visit(turn: Turn): Promise<void> {
  const { shop, chance, isCalm } = turn
  const isOpen = (link: Link) => isSteady(turn, link) && (chance.happens(0.15) || isActive(turn, link))
  const link = draw(turn, shop.links, isOpen)
  if (!link) return create(turn)
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
  if (begun === null) return
  const path = `${LINKS}/${link.uuid}/payments?limit=100`
  const { body } = await ask(turn, 'GET', path)
  const accessCode = new URL(begun).pathname.split('/')[2]
  const shown = body.data.find((one: { accessCode: string }) => one.accessCode === accessCode)
  assert.ok(shown, 'what was begun at a link is listed there')
  addPayment(turn, shown, { kind: 'checkout', currency: link.currency, minor, email: person.email, link })
}

const isActive = ({ shop, world }: Turn, link: Link) =>
  linkStatus(shop, link, world.clock.now().getTime()) === 'active'

function hasRoom({ shop }: Turn, link: Link): boolean {
  const { paid, held } = placesOf(shop, link)
  return link.maxPayments === null || paid + held < link.maxPayments
}

async function deactivate(turn: Turn): Promise<void> {
  const { shop, world } = turn
  const link = draw(turn, shop.links, (one) => isSteady(turn, one))
  if (!link) return create(turn)
  link.isDeactivated = true
  const answer = await ask(turn, 'POST', `${LINKS}/${link.uuid}/deactivate`, {})
  const told = `200 ${linkStatus(shop, link, world.clock.now().getTime())}`
  judge(turn, answer, told, ['200 inactive', '200 completed'])
}

/** More places, or fewer; never fewer than are taken. */
async function change(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const link = draw(turn, shop.links, (one) => isSteady(turn, one) && (one.maxPayments ?? 2) > 1)
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
  { name: 'deactivate-link', weight: 0.7, run: deactivate },
  { name: 'change-link', weight: 1, run: change, isCalmOnly: true },
]
