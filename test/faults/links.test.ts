// F-28 and F-47 for payment links: more payers submit at once than a link allows. A slot is reserved before any charge,
// so payers without a slot read why and pay nothing. It runs in npm run test:rest; in npm test two processes reserve the last
// slot for several payments at once (link-slots.test.ts).

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { ApiResponse } from '../support/api.ts'
import { startDeployment } from '../support/deployment.ts'
import { fillIn, makeLink } from '../support/links.ts'
import { createPayer, headingOf, mainTextOf, type Page, type Payer } from '../support/payer.ts'
import { eventually } from '../support/process.ts'

const PAYERS = 50

const deployment = await startDeployment({ after })
const services = await Promise.all([deployment.startService(), deployment.startService()])
const [{ api }] = services
const { db } = deployment

interface StartedPayment {
  id: string
  reference: string
  payer: Payer
  checkout: Page
}

const selectStarted = sql<{ id: string; reference: string; email: string }>`
select id, reference, customer_email as email
from payments
where link_id = $1`

/** This many payers submit the link's form at once, alternating between the two processes, and open their checkouts. */
async function fillInAll(link: { uuid: string; slug: string }, count: number): Promise<StartedPayment[]> {
  const people = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const payer = createPayer()
      const email = `payer${n}@example.com`
      const { url } = n % 2 ? services[1] : services[0]
      const { location } = await fillIn(payer, await payer.open(`${url}/l/${link.slug}`), { email })
      return { payer, email, checkout: await payer.open(location ?? '') }
    }),
  )
  const payments = await db.query(selectStarted, [link.uuid])
  assert.equal(payments.length, count)
  return people.map((person) => {
    const payment = payments.find(({ email }) => email === person.email)
    assert.ok(payment)
    return { ...person, ...payment }
  })
}

/** All payers lock the row of one link: on a busy machine some wait too long for it, get 503, and try again. */
const untilServed = <Answer extends { http: number }>(send: () => Promise<Answer>) =>
  eventually(send, ({ http }) => http !== 503, 60_000)

const completeAsPayer = ({ reference }: { reference: string }, n: number, instrument = 'card_success') => {
  const path = `/api/v1/sandbox/payments/${reference}/complete`
  return untilServed(() => (n % 2 ? services[1] : services[0]).api.post(path, { instrument }))
}

function tally(answers: readonly (ApiResponse | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { http, body } of answers.filter((answer) => answer !== undefined)) {
    const name = http === 200 ? body.data.status : body.error.code
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** The counts of the link, and the executions at the provider. */
async function snapshotOf(uuid: string) {
  const { paymentsCount, amountCollected, status } = (await api.get(`/api/v1/payment-links/${uuid}`)).body
    .data
  const payments = await db.query(selectStarted, [uuid])
  const executions = await Promise.all(payments.map(({ id }) => deployment.sandbox.executions(id)))
  return { paymentsCount, amountCollected, status, executions: executions.flat().length }
}

const countEvents = sql<{ type: string; events: number }>`
select type, count(*)::integer as events
from events
where resource_id = $1
group by type
order by type`

/** The count is updated in the background. */
async function assertEmitted(uuid: string, expected: string[]): Promise<void> {
  const read = async () =>
    (await db.query(countEvents, [uuid])).map(({ type, events }) => `${events} ${type}`)
  await eventually(read, (events) => events.join() === expected.join(), 10_000)
}

describe('50 payers at once over two processes (F-47)', () => {
  it('50 payers of a single-use link: one goes on to pay, and every other one reads why not', async () => {
    const link = await makeLink(api, { usage: 'single' })
    const people = await fillInAll(link, PAYERS)
    // The sandbox API submits for most payers; the others submit on their pages at the same moment.
    const isOnPage = (_: unknown, n: number) => n % 3 === 0
    const [answers, pressed] = await Promise.all([
      Promise.all(people.map((one, n) => (isOnPage(one, n) ? undefined : completeAsPayer(one, n)))),
      Promise.all(
        people.filter(isOnPage).map(async (one) => ({
          ...one,
          page: await untilServed(() => one.payer.choose(one.checkout, 'card')),
        })),
      ),
    ])
    const { successful = 0, payment_link_busy: busy = 0, payment_link_ended: ended = 0 } = tally(answers)
    const redirected = pressed.filter(({ page }) => page.url.endsWith('/continue'))
    assert.equal(successful + redirected.length, 1)
    assert.equal(
      successful + busy + ended,
      answers.filter((answer) => answer).length,
      JSON.stringify(tally(answers)),
    )
    for (const { page } of pressed.filter((one) => !redirected.includes(one))) {
      assert.match(headingOf(page), /^(Somebody is paying at this moment|This link takes no more payments)$/)
      assert.match(mainTextOf(page), /You have not been charged\./)
    }
    for (const one of redirected) assert.equal((await completeAsPayer(one, 0)).body.data.status, 'successful')
    assert.deepEqual(await snapshotOf(link.uuid), {
      ...{ paymentsCount: 1, amountCollected: '1250.50', status: 'completed', executions: 1 },
    })
    const again = await Promise.all(people.map((one, n) => completeAsPayer(one, n)))
    assert.equal(tally(again).successful, undefined, 'no other payer is charged later')
    const [other] = pressed.filter((one) => !redirected.includes(one))
    assert.ok(other)
    assert.equal(headingOf(await other.payer.open(other.checkout.url)), 'This link takes no more payments')
    await assertEmitted(link.uuid, ['1 payment_link.completed', '1 payment_link.paid'])
  })

  it('50 payers of a link for ten: ten are charged', async () => {
    const link = await makeLink(api, { maxPayments: 10 })
    const people = await fillInAll(link, PAYERS)
    const answers = await Promise.all(people.map((one, n) => completeAsPayer(one, n)))
    assert.equal(tally(answers).successful, 10, JSON.stringify(tally(answers)))
    assert.deepEqual(await snapshotOf(link.uuid), {
      ...{ paymentsCount: 10, amountCollected: '12505.00', status: 'completed', executions: 10 },
    })
    await assertEmitted(link.uuid, ['1 payment_link.completed', '10 payment_link.paid'])
  })

  it('25 payers of a link for ten, every third card declined: slots go to other payers until ten have paid', async () => {
    const link = await makeLink(api, { maxPayments: 10 })
    const people = await fillInAll(link, 25)
    let left = people.map((one, n) => ({
      ...one,
      n,
      instrument: n % 3 === 0 ? 'card_declined' : 'card_success',
    }))
    let paid = 0
    for (let round = 0; left.length > 0 && round < PAYERS; round += 1) {
      const answers = await Promise.all(left.map((one) => completeAsPayer(one, one.n, one.instrument)))
      paid += tally(answers).successful ?? 0
      left = left
        .filter(
          (_, n) =>
            answers[n]?.body.error?.code === 'payment_link_busy' ||
            answers[n]?.body.data?.status === 'pending',
        )
        .map((one) => ({ ...one, instrument: 'card_success' }))
    }
    assert.equal(paid, 10)
    assert.deepEqual(await snapshotOf(link.uuid), {
      ...{ paymentsCount: 10, amountCollected: '12505.00', status: 'completed', executions: 10 },
    })
  })
})
