// Mails of the dashboard: the link for a lost password, without telling whether there is an account, and receipts.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { textsFor } from '../../src/dashboard/frame/texts.ts'
import { linkOf, mailInvitation } from '../../src/dashboard/mails.ts'
import { sql } from '../../src/kit/db/db.ts'
import { CUSTOMER, payWith } from '../support/builders.ts'
import { hiddenFields, newVisitor, signInAs } from '../support/dashboard.ts'
import { startMailServer } from '../support/mail-server.ts'
import { testService } from '../support/service.ts'

const replies: Record<string, string> = {}
const smtp = await startMailServer({ after }, replies)
const env = {
  COWRY_SMTP_URL: `smtp://127.0.0.1:${smtp.settings.port}`,
  COWRY_MAIL_FROM: 'Cowry <pay@example.com>',
}
const service = await testService({ after }, { env })
const { uuid: merchantId, api } = await service.newMerchant()

const mailsTo = (email: string) => smtp.mails.filter((mail) => mail.includes(`To: ${email}`))

/** The one mail to this address. */
async function mailTo(email: string): Promise<string> {
  for (let waited = 0; mailsTo(email).length < 1 && waited < 10_000; waited += 20) await sleep(20)
  assert.equal(mailsTo(email).length, 1)
  // Quoted-printable: a long line is broken by "=".
  return (mailsTo(email)[0] ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
}

const ask = (email: string, headers = {}) =>
  newVisitor(service).post('/app/lost-password', { email }, headers)

describe('a lost password', () => {
  it('has a page that the sign-in links to', async () => {
    const visitor = newVisitor(service)
    assert.match((await visitor.get('/app/sign-in')).text, /href="\/app\/lost-password"/)
    assert.match(
      (await visitor.get('/app/lost-password')).text,
      /<form method="post" action="\/app\/lost-password">/,
    )
  })

  it('is answered in the same way whether there is an account, and mailed only if there is one', async () => {
    const { email } = await signInAs(service, merchantId)
    const known = await ask(email.toUpperCase())
    const unknown = await ask('stranger@example.com')
    const shapeOf = ({ http, headers, text }: typeof known) => [http, headers.get('location'), text]
    assert.deepEqual(shapeOf(known), shapeOf(unknown))
    assert.deepEqual(shapeOf(known), [303, '/app/lost-password?done=sent', ''])
    const mail = await mailTo(email)
    assert.match(mail, new RegExp(`^To: ${email}$`, 'm'))
    assert.match(mail, /^From: Cowry <pay@example\.com>$/m)
    const link = /https?:\S+/.exec(mail)?.[0] ?? ''
    assert.match(link, new RegExp(`^${service.url}/app/reset/[\\w-]{43}$`))
    assert.ok(smtp.commands.every((command) => !command.includes('stranger@')))
    assert.match(
      (await newVisitor(service).get('/app/lost-password?done=sent')).text,
      /If there is an account/,
    )
  })

  it('is replaced by the link once, and the sessions before end', async () => {
    const person = await signInAs(service, merchantId)
    await ask(person.email)
    const link = new URL(/https?:\S+/.exec(await mailTo(person.email))?.[0] ?? '').pathname
    const visitor = newVisitor(service)
    const short = await visitor.post(link, { password: 'short' })
    assert.deepEqual([short.http, /12 to 128 characters/.test(short.text)], [422, true])
    const password = 'another horse battery'
    const reset = await visitor.post(link, { password })
    assert.deepEqual([reset.http, reset.headers.get('location')], [303, '/app/sign-in?done=reset'])
    assert.equal((await visitor.post(link, { password: 'a third horse battery' })).http, 410)
    assert.equal((await person.get('/app')).http, 303)
    assert.equal((await visitor.post('/app/sign-in', { email: person.email, password })).http, 303)
  })

  it('is sent with our own address, whatever host the request names', async () => {
    const { email } = await signInAs(service, merchantId)
    await ask(email, { 'x-forwarded-host': 'evil.example' })
    assert.doesNotMatch(await mailTo(email), /evil/)
  })

  it('sends a few mails to an address, and then refuses for a while', async () => {
    const { email } = await signInAs(service, merchantId)
    const statuses: number[] = []
    for (let time = 0; time < 7; time += 1) statuses.push((await ask(email)).http)
    assert.equal(statuses[0], 303)
    assert.equal(statuses.at(-1), 429)
  })

  it('is refused from a form of another site', async () => {
    const { email } = await signInAs(service, merchantId)
    assert.equal((await ask(email, { 'sec-fetch-site': 'cross-site' })).http, 403)
    await sleep(100)
    assert.deepEqual(mailsTo(email), [])
  })

  it('says whom to ask where no mail is configured', async (t) => {
    const quiet = await testService(t)
    const visitor = newVisitor(quiet)
    const { text } = await visitor.get('/app/lost-password')
    assert.match(text, /Ask an owner of your account/)
    assert.doesNotMatch(text, /name="email"/)
    const posted = await visitor.post('/app/lost-password', { email: 'ada@example.com' })
    assert.deepEqual([posted.http, posted.headers.get('location')], [303, '/app/lost-password'])
  })
})

describe('the mail of an invitation', () => {
  const publicUrl = () => 'https://pay.example.com'
  const invitation = { email: 'ada@example.com', token: 'T'.repeat(43), language: null }
  const shop = { merchantName: 'Mama\u202e Duka', texts: textsFor('en', 'UTC') }

  it('names the merchant and has the link', async () => {
    const sent: { to: string; subject: string; text: string }[] = []
    const mailer = { sendMail: async (mail: (typeof sent)[number]) => sent.push(mail) > 0 }
    assert.equal(await mailInvitation({ mailer, publicUrl }, invitation, shop), true)
    assert.equal(sent[0]?.to, invitation.email)
    assert.match(sent[0]?.subject ?? '', /Mama Duka/)
    assert.ok(sent[0]?.text.includes(linkOf({ publicUrl }, 'join', invitation.token)))
  })

  it('is sent by the screen of the team, which shows the link only if the mail server refuses', async () => {
    const owner = await signInAs(service, merchantId)
    const invite = (email: string) => owner.submit('/app/team', '/app/team/invite', { email, role: 'viewer' })
    const mailed = await invite('mailed@example.com')
    assert.equal(mailed.http, 200, mailed.text)
    assert.doesNotMatch(mailed.text, /\/app\/join\//)
    const [, link = ''] = /(\/app\/join\/[\w-]{43})/.exec(await mailTo('mailed@example.com')) ?? []
    assert.equal((await newVisitor(service).get(link)).http, 200)
    replies.RCPT = '550 not here'
    const shown = await invite('refused@example.com')
    delete replies.RCPT
    assert.match(shown.text, /\/app\/join\/[\w-]{43}/)
    assert.match(shown.text, /did not accept/)
  })

  it('is not sent where no mail is configured', async () => {
    assert.equal(await mailInvitation({ mailer: null, publicUrl }, invitation, shop), false)
  })
})

describe('a receipt that is sent again', () => {
  it('is mailed to the payer once for each form, with the link of the page', async () => {
    const customer = { ...CUSTOMER, email: 'payer-of-receipt@example.com' }
    const { uuid } = await payWith(api, 'card_success', { customer })
    const support = await signInAs(service, merchantId, 'support')
    const page = `/app/payments/${uuid}`
    const fields = hiddenFields((await support.get(page)).text, `${page}/receipt`)
    for (const _ of [1, 2]) {
      const sent = await support.post(`${page}/receipt`, fields)
      assert.equal(sent.headers.get('location'), `${page}?done=receiptSent`, sent.text)
    }
    const link = /https?:\S+/.exec(await mailTo(customer.email))?.[0] ?? ''
    assert.match(link, new RegExp(`^${service.url}/pay/\\w+/receipt$`))
    assert.equal((await newVisitor(service).get(new URL(link).pathname)).http, 200)
  })
})

describe('mails about requests for refunds', () => {
  it('reach those who may approve, and the person who asked when it was decided', async () => {
    const shop = await service.newMerchant()
    const owner = await signInAs(service, shop.uuid)
    const finance = await signInAs(service, shop.uuid, 'finance')
    const asker = await signInAs(service, shop.uuid, 'support')
    const viewer = await signInAs(service, shop.uuid, 'viewer')
    await service.db.query(sql<unknown>`update users set language = 'fr' where email = $1`, [asker.email])
    const { uuid, reference } = await payWith(shop.api, 'card_success', { currency: 'KES', amount: 2000 })
    const page = `/app/payments/${uuid}`
    const fields = {
      ...hiddenFields((await asker.get(page)).text, `${page}/refund`),
      amount: '250',
      reason: 'Late',
    }
    for (const _ of [1, 2]) assert.equal((await asker.post(`${page}/refund`, fields)).http, 303)
    const mails = [await mailTo(owner.email), await mailTo(finance.email)]
    for (const mail of mails) {
      assert.match(mail, /A support asks for a refund of KSh/)
      assert.ok(mail.includes(reference))
    }
    const request = new RegExp(`${service.url}(/app/refunds/requests/\\S+)`).exec(mails[1] ?? '')?.[1] ?? ''
    const reason = 'Already refunded in cash'
    const note = { ...hiddenFields((await finance.get(request)).text, `${request}/reject`), note: reason }
    for (const _ of [1, 2]) assert.equal((await finance.post(`${request}/reject`, note)).http, 303)
    const answer = await mailTo(asker.email)
    assert.match(answer, /A finance a d=C3=A9cid=C3=A9/)
    assert.ok(answer.includes(reason))
    assert.deepEqual([mailsTo(viewer.email).length, mailsTo(finance.email).length], [0, 1])
  })
})
