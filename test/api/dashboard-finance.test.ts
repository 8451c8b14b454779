// What finance does in the dashboard: settlement files and their differences.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EN } from '../../src/dashboard/locales/en.ts'
import { addMs } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import { initiateBody, newReference, payWith } from '../support/builders.ts'
import { newVisitor, saveOwnAccount, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import { p2pMerchant, WALLET } from '../support/p2p.ts'
import { sendBytes } from '../support/raw-http.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let finance: Visitor

before(async () => {
  merchant = await service.newMerchant()
  finance = await signInAs(service, merchant.uuid, 'finance')
})

const selectKey = sql<{ key: string }>`select gateway_key as key from attempts where payment_id = $1`

async function keyOf(paymentUuid: string): Promise<string> {
  const [attempt] = await service.db.query(selectKey, [paymentUuid])
  return attempt?.key ?? assert.fail('it has no attempt')
}

// As if the payment was collected by an account of the merchant's own, at another gateway than that of the instance.
const moveToOwnAccount = sql<unknown>`
update attempts a
set gateway = 'paystack', account_id = g.id
from gateway_accounts g
where a.payment_id = $1 and g.merchant_id = a.merchant_id`

const FILES = '/app/reconciliations'
const NEW = `${FILES}/new`
const csv = (...lines: string[]) => ({
  name: 'monday.csv',
  content: ['type,key,reference,amount,currency,fee,status', ...lines, ''].join('\r\n'),
})

describe('reconciliation in the dashboard', () => {
  const form = { gateway: 'paystack', format: 'neutral', coversFrom: '', coversTo: '' }
  const pathOf = ({ headers }: Awaited<ReturnType<Visitor['get']>>) => String(headers.get('location'))

  /** The accounts that the form offers. */
  const offered = async (person: Visitor) => {
    const [, choices = ''] =
      /<select id="gateway"[^>]*>(.*?)<\/select>/.exec((await person.get(NEW)).text) ?? []
    return [...choices.matchAll(/value="(\w+)"/g)].map(([, value]) => value)
  }

  before(async () => {
    assert.deepEqual(await offered(finance), ['sandbox'])
    await saveOwnAccount(service, merchant.uuid)
  })

  it('takes files of the sandbox in staging, which are compared with the own payments alone', async () => {
    const shops = [await service.newMerchant(), await service.newMerchant()]
    const [own, other] = await Promise.all(shops.map((shop) => payWith(shop.api, 'card_success')))
    const person = await signInAs(service, shops[0]?.uuid ?? '', 'finance')
    const lineOf = async (uuid: string) => `payment,${await keyOf(uuid)},,1250.50,KES,,settled`
    const file = csv(await lineOf(own?.uuid), await lineOf(other?.uuid))
    const fields = { ...form, gateway: 'sandbox', action: 'preview' }
    const compared = await person.upload(NEW, NEW, fields, { file })
    assert.match(compared.text, /1 line agrees, and there is 1 difference\./)
  })

  it('offers a revoked account, whose provider still settles what it has collected', async () => {
    const shop = await service.newMerchant()
    const person = await signInAs(service, shop.uuid, 'finance')
    await saveOwnAccount(service, shop.uuid)
    const path = `/admin/v1/merchants/${shop.uuid}/gateways/paystack`
    assert.ok((await service.admin.send('DELETE', path, {})).http < 300)
    assert.deepEqual(await offered(person), ['sandbox', 'paystack'])
  })

  it('compares a file without a change, then reconciles it and settles what agrees', async () => {
    const paid = await payWith(merchant.api, 'card_success')
    await service.db.query(moveToOwnAccount, [paid.uuid])
    const lines = csv(`payment,${await keyOf(paid.uuid)},,1250.50,KES,,settled`, 'payment,other,,10.00,KES,,')
    const balance = async () => (await merchant.api.get('/api/v1/wallet/balance?currency=KES')).body.data
    const compared = await finance.upload(NEW, NEW, { ...form, action: 'preview' }, { file: lines })
    assert.match(compared.text, /Nothing was changed\. 1 line agrees, and there is 1 difference\./)
    assert.match(compared.text, /Not in our records/)
    assert.equal((await balance()).availableBalance, '0.00')
    assert.match((await finance.get(FILES)).text, /No files here/)
    const done = await finance.upload(NEW, NEW, form, { file: lines })
    assert.equal(done.http, 303, done.text)
    assert.match((await finance.get(pathOf(done))).text, /The file is reconciled\./)
    assert.equal((await balance()).availableBalance, '1250.50')
    assert.match((await finance.get(FILES)).text, /monday\.csv/)
  })

  it('finds payments that a complete file lacks', async () => {
    const paid = await payWith(merchant.api, 'card_success')
    await service.db.query(moveToOwnAccount, [paid.uuid])
    await service.db.query(sql<unknown>`update payments set gateway = 'paystack' where id = $1`, [paid.uuid])
    const day = new Date(paid.paidAt).toLocaleDateString('sv-SE', { timeZone: 'UTC' })
    const period = { coversFrom: day, coversTo: day }
    const file = csv('payout,1,,1,KES,,')
    const done = await finance.upload(NEW, NEW, { ...form, ...period }, { file })
    const { text } = await finance.get(pathOf(done))
    assert.match(text, /Not in the file/)
    const [, path = ''] = /href="(\/app\/breaks\/[\w-]{36})"/.exec(text) ?? []
    assert.ok((await finance.get(path)).text.includes(`/app/payments/${paid.uuid}`))
    assert.match((await finance.get('/app')).text, /2 differences to settlement files are not explained/)
  })

  it('assigns and closes a difference with a note, in the audit log', async () => {
    const [, page = ''] =
      /href="(\/app\/breaks\/[\w-]{36})"/.exec((await finance.get('/app/breaks')).text) ?? []
    const refused = await finance.submit(page, `${page}/close`, { reason: ' ' })
    assert.equal(refused.http, 422)
    const assigned = await finance.submit(page, `${page}/assign`, { owner: 'Wanjiru', note: 'asked' })
    assert.equal(pathOf(assigned), `${page}?done=saved`)
    assert.match((await finance.get(page)).text, /Wanjiru/)
    const uuid = page.split('/').at(-1)
    const path = `/admin/v1/reconciliation-breaks/${uuid}`
    const byOperator = { owner: 'Kamau', note: 'Their file is odd.' }
    assert.equal((await service.admin.post(`${path}/assign`, byOperator)).http, 200)
    for (const address of [page, '/app/breaks', '/app/audit'])
      assert.doesNotMatch((await finance.get(address)).text, /Kamau|odd/, address)
    assert.match((await finance.get(page)).text, /Assigned to<\/dt>\s*<dd>Operator/)
    await finance.submit(page, `${page}/assign`, { owner: 'Wanjiru' })
    assert.match((await finance.get(page)).text, /Wanjiru/)
    assert.doesNotMatch((await finance.get(page)).text, /odd/)
    await finance.submit(page, `${page}/close`, { reason: 'Of another system' })
    assert.match((await finance.get(page)).text, /Of another system/)
    assert.equal((await finance.get(page)).text.includes(`action="${page}/close"`), false)
    const { data } = (await service.admin.get(path)).body
    assert.deepEqual([data.state, data.closedBy], ['closed', 'merchant'])
    assert.match((await finance.get('/app/audit')).text, /POST \/app\/breaks\/\{uuid\}\/close/)
  })

  it('shows and settles nothing of another merchant, also if the file names its payment', async () => {
    const other = await service.newMerchant()
    const paid = await payWith(other.api, 'card_success')
    const file = csv(`payment,${await keyOf(paid.uuid)},,1.00,KES,,settled`)
    const { text } = await finance.upload(NEW, NEW, { ...form, action: 'preview' }, { file })
    assert.match(text, /Not in our records/)
    assert.equal(/1,250\.50/.test(text), false)
    const stranger = await signInAs(service, other.uuid)
    const [, page = ''] =
      /href="(\/app\/breaks\/[\w-]{36})"/.exec((await finance.get('/app/breaks?state=all')).text) ?? []
    assert.equal((await stranger.get(page)).http, 404)
    const [, id = ''] = /\?reconciliation=([\w-]{36})/.exec((await finance.get(FILES)).text) ?? []
    assert.equal((await stranger.get(`/app/breaks?reconciliation=${id}`)).http, 404)
    assert.match((await stranger.get(FILES)).text, /No files here/)
    assert.match((await stranger.get('/app/breaks?state=all')).text, /No differences here/)
  })

  it('refuses a file of an account that the merchant has never had, at the field', async () => {
    const before = (await finance.get(FILES)).text.split('monday.csv').length
    for (const gateway of ['flutterwave', 'paystack_ke', 'nothing', ''])
      for (const action of ['', 'preview']) {
        const fields = { ...form, gateway, action }
        const refused = await finance.upload(NEW, NEW, fields, { file: csv('payment,k,,1.00,KES,,') })
        assert.equal(refused.http, 422, gateway)
        assert.match(refused.text, /id="gateway-error"/, gateway)
      }
    assert.equal((await finance.get(FILES)).text.split('monday.csv').length, before)
  })

  it('takes a file of an account that was revoked since', async () => {
    const shop = await service.newMerchant()
    const person = await signInAs(service, shop.uuid, 'finance')
    for (const gateway of ['paystack', 'paystack_ke']) await saveOwnAccount(service, shop.uuid, gateway)
    const path = `/admin/v1/merchants/${shop.uuid}/gateways/paystack`
    assert.equal((await service.admin.send('DELETE', path)).http, 200)
    const taken = await person.upload(NEW, NEW, form, { file: csv('payment,k,,1.00,KES,,') })
    assert.equal(taken.http, 303, taken.text)
  })

  it('names the lines that cannot be read, keeps the choice, and asks for the file', async () => {
    const wrong = await finance.upload(
      NEW,
      NEW,
      { ...form, coversFrom: 'x' },
      { file: csv('payment,k,,ten,KES,,') },
    )
    assert.equal(wrong.http, 422)
    const unread = await finance.upload(NEW, NEW, form, { file: csv('payment,k,,ten,KES,,') })
    assert.match(unread.text, /Line 2/)
    assert.match(unread.text, /<option value="neutral" selected>/)
    const none = await finance.upload(NEW, NEW, form, {})
    assert.equal(none.http, 422)
    assert.match(none.text, /Choose a file\./)
  })

  it('answers a role that may not reconcile before it sends the file', async () => {
    const answerTo = (person: Visitor, path: string) => {
      const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const head = [
        `POST ${path} HTTP/1.1`,
        `host: ${new URL(service.url).host}`,
        `cookie: ${cookie}`,
        'content-type: multipart/form-data; boundary=x',
        'content-length: 6000000',
      ]
      // Without the body: a service that reads it first does not answer.
      return sendBytes(service.url, [...head, '', ''].join('\r\n'))
    }
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    const refused = await answerTo(viewer, NEW)
    assert.deepEqual([refused.http, refused.text.includes(EN.noRightText)], [403, true])
    const suspended = await service.newMerchant()
    const owner = await signInAs(service, suspended.uuid)
    assert.equal((await service.admin.post(`/admin/v1/merchants/${suspended.uuid}/suspend`, {})).http, 200)
    assert.equal((await answerTo(owner, NEW)).http, 403)
    const stranger = await answerTo(newVisitor(service), NEW)
    assert.deepEqual([stranger.http, stranger.headers.location], [303, '/app/sign-in'])
    assert.equal((await answerTo(owner, '/ops/reconciliations/new')).headers.location, '/ops/sign-in')
  })

  it('takes files of every account from operators', async () => {
    const operator = await signInAsOperator(service)
    const page = '/ops/reconciliations/new'
    const file = csv(`payment,${merchant.uuid},,7.00,KES,,settled`)
    const done = await operator.upload(page, page, { ...form, gateway: 'sandbox' }, { file })
    assert.match(pathOf(done), /^\/ops\/breaks\?reconciliation=/)
    assert.match((await operator.get(pathOf(done))).text, /Not in our records/)
    const own = await operator.upload(page, page, { ...form, merchant: merchant.uuid }, { file })
    assert.equal(own.http, 303, own.text)
    assert.ok((await finance.get('/app/breaks')).text.includes(`payment ${merchant.uuid}`))
  })
})

describe('balances in the dashboard', () => {
  let shop: Awaited<ReturnType<typeof service.newMerchant>>
  let person: Visitor
  let paid: { uuid: string; reference: string; paidAt: string }

  before(async () => {
    shop = await service.newMerchant()
    person = await signInAs(service, shop.uuid, 'finance')
    paid = await payWith(shop.api, 'card_success')
  })

  it('explains a balance from its lines down to the payment, and back', async () => {
    const balances = await person.get('/app/wallet')
    assert.match(balances.text, /href="\/app\/wallet\?currency=KES"/)
    const { text } = await person.get('/app/wallet?currency=KES')
    assert.match(text, /At the end<\/td><td[^>]*><\/td><td[^>]*>KSh\s?0<\/td><td[^>]*>KSh\s?1,250\.50/)
    assert.match(text, /At the beginning<\/td><td[^>]*><\/td><td[^>]*>KSh\s?0<\/td><td[^>]*>KSh\s?0/)
    assert.ok(text.includes(`/app/payments/${paid.uuid}`))
    const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
    const later = (await person.get(`/app/wallet?currency=KES&createdFrom=${tomorrow}`)).text
    assert.match(later, /At the beginning<\/td><td[^>]*><\/td><td[^>]*>KSh\s?0<\/td><td[^>]*>KSh\s?1,250\.50/)
    assert.equal((await person.get('/app/wallet?currency=KES&createdFrom=x')).http, 422)
    const payment = (await person.get(`/app/payments/${paid.uuid}`)).text
    assert.ok(payment.includes(`/app/wallet?payment=${paid.uuid}`))
    const lines = (await person.get(`/app/wallet?payment=${paid.uuid}&type=capture`)).text
    assert.ok(lines.includes(`/app/payments/${paid.uuid}`))
  })
})

describe('the sums between two balances', () => {
  const amountOf = (text: string) =>
    Math.round(Number(text.replaceAll(/[^\d.]/g, '')) * 100) * (text.includes('−') ? -1 : 1)

  /** The rows of the first table: what it is about, how many lines, and both amounts in cents. */
  const rowsOf = (text: string) => {
    const [, body = ''] = /<tbody>(.*?)<\/tbody>/s.exec(text) ?? []
    return body
      .split('<tr>')
      .slice(1)
      .map((row) => {
        const [title = '', lines = '', available = '', pending = ''] = [
          ...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs),
        ].map(([, cell]) => String(cell))
        const type = /type=(\w+)/.exec(title)?.[1]
        return { title, type, lines, available: amountOf(available), pending: amountOf(pending) }
      })
  }

  it('add up to the difference, and each links to its lines', async () => {
    const shop = await service.newMerchant()
    const person = await signInAs(service, shop.uuid, 'finance')
    for (const amount of [310, 45.25, 1_000]) await payWith(shop.api, 'card_success', { amount })
    const { reference } = await payWith(shop.api, 'card_success', { amount: 500 })
    const refund = { reference, amount: 120, refundReference: newReference() }
    assert.equal((await shop.api.post('/api/v1/refunds', refund)).body.data?.status, 'successful')
    const { text } = await person.get('/app/wallet?currency=KES')
    const [end, ...others] = rowsOf(text)
    const between = others.slice(0, -1)
    for (const name of ['available', 'pending'] as const)
      assert.equal(
        between.reduce((sum, row) => sum + row[name], 0),
        end?.[name],
        name,
      )
    const captures = between.find(({ type }) => type === 'capture')
    assert.deepEqual([captures?.lines, captures?.pending], ['4', 185_525])
    for (const { type, lines } of between.filter((row) => row.type !== undefined)) {
      const listed = (await person.get(`/app/wallet?currency=KES&type=${type}`)).text
      assert.equal(listed.split('<a class="row"').length - 1, Number(lines), type)
    }
    assert.deepEqual(
      between.map(({ type }) => type),
      ['capture', undefined, 'refund'],
    )
  })
})

describe('the figures of reports', () => {
  let shop: Awaited<ReturnType<typeof service.newMerchant>>
  let person: Visitor

  before(async () => {
    shop = await service.newMerchant()
    person = await signInAs(service, shop.uuid, 'finance')
  })

  it('says how many payments are counted without a fee, and what refunded means', async () => {
    await payWith(shop.api, 'card_success')
    const { fee, uuid } = await payWith(shop.api, 'card_success', { amount: 80 })
    assert.equal(fee, null)
    const { text } = await person.get('/app/reports?by=currency')
    assert.match(text, /KES: 2 payments without a known fee are counted without a fee\./)
    assert.match(text, /<th[^>]*>Refunded of these<\/th>/)
    assert.match(text, /The file of refunds has the refunds that were made in its month/)
    assert.match((await person.get(`/app/payments/${uuid}`)).text, /<dt>Fee<\/dt><dd>Not known<\/dd>/)
    const open = await shop.api.post('/api/v1/checkout/initiate-payment', initiateBody())
    const unpaid = await person.get(`/app/payments/${open.body.data.uuid}`)
    assert.deepEqual([unpaid.http, unpaid.text.includes('<dt>Fee</dt>')], [200, false])
  })

  /** The links in the cells of the row that begins with this text, in their order. */
  const linksOf = (text: string, title: string) => {
    const [row = ''] = text.split('<tr>').filter((one) => one.startsWith(`<td>${title}</td>`))
    return [...row.matchAll(/<a href="(\/app\/payments\?[^"]+)">([^<]+)</g)].map(([, address, amount]) => ({
      address: String(address).replaceAll('&amp;', '&'),
      amount: Number(String(amount).replaceAll(/[^\d.]/g, '')),
    }))
  }

  /** The sum of what is paid in the file of a list. */
  const sumOf = async (address: string) => {
    const { text } = await person.get(address.replace('/app/payments', '/app/payments/export'))
    const [head = [], ...rows] = text
      .trim()
      .split('\r\n')
      .map((line) => line.replaceAll('"', '').replace('\uFEFF', '').split(','))
    return rows.reduce((sum, cells) => sum + Number(cells[head.indexOf('amountPaid')]), 0)
  }

  const moveCreation = sql<unknown>`update payments set created_at = $2 where id = $1`

  it('lead to lists of payments with the same sum, as those of home do', async () => {
    const late = await payWith(shop.api, 'card_success', { amount: 45 })
    await service.db.query(moveCreation, [late.uuid, addMs(new Date(late.createdAt), -3 * 86_400_000)])
    const home = (await person.get('/app')).text
    const reports = await Promise.all(
      ['gateway', 'channel', 'status', 'currency', 'day'].map((by) => person.get(`/app/reports?by=${by}`)),
    )
    const figures = [
      ...linksOf(home, 'KES'),
      ...reports.flatMap(({ text }) => {
        const [, table = ''] = text.split('<tbody>')
        return table
          .split('<tr>')
          .flatMap((row) => linksOf(`<tr>${row}`, /<td>(.*?)<\/td>/.exec(row)?.[1] ?? ''))
      }),
    ]
    assert.equal(figures.length, 6)
    for (const { address, amount } of figures) {
      assert.equal(amount, 1_250.5 + 80 + 45, address)
      assert.equal(await sumOf(address), amount, address)
      assert.match((await person.get(address)).text, new RegExp(late.reference))
    }
  })

  it('count those on home that are decided, not those that are open', async () => {
    assert.match((await person.get('/app')).text, /3 \/ 3<\/bdi> \(100%\)/)
    const open = await shop.api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.match((await person.get('/app')).text, /3 \/ 3<\/bdi> \(100%\)/)
    await shop.api.post(`/api/v1/checkout/payments/${open.body.data.uuid}/cancel`, {})
    assert.match((await person.get('/app')).text, /3 \/ 4<\/bdi> \(75%\)/)
  })

  const payOn = sql<unknown>`update payments set created_at = $2, paid_at = $2 where id = $1`

  it('compare today with the same part of the day a week ago', async () => {
    const day = new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)
    for (const [amount, time] of [
      [60, '00:00:00Z'],
      [900, '23:59:59Z'],
    ] as const) {
      const { uuid } = await payWith(shop.api, 'card_success', { amount })
      await service.db.query(payOn, [uuid, `${day}T${time}`])
    }
    const { text } = await person.get('/app')
    const [, until] = /A week ago until (\d\d:(?:00|15|30|45))</.exec(text) ?? []
    // Nothing is compared in the first quarter of an hour of the day, and the last one is never complete.
    const expected = until === '00:00' ? '0' : '60'
    assert.match(text, new RegExp(`>KSh\\s?${expected}<span class="sub">Whole day: <a [^>]+>KSh\\s?960<`))
  })

  it('say what payers sent straight to accounts of the merchant', async () => {
    const direct = await p2pMerchant(service, WALLET)
    const { uuid } = await direct.requestTransfer()
    assert.equal((await direct.act(uuid, 'mark-paid')).http, 200)
    assert.equal((await direct.confirm(uuid, 5_000)).http, 200)
    const reader = await signInAs(service, direct.uuid, 'finance')
    for (const path of ['/app', '/app/reports']) {
      const { text } = await reader.get(path)
      assert.match(text, /Of which straight to your own accounts.*?paymentGateway=p2p">SSP\s?5,000/, path)
      assert.equal((await person.get(path)).text.includes('straight to your own accounts'), false, path)
    }
    assert.match((await reader.get('/app/wallet')).text, /straight to your own accounts is in the reports/)
  })

  it('show on a list when a payment was paid, if that was on another day or is asked for', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const count = async (query: string) =>
      (await person.get(`/app/payments${query}`)).text.split('<span class="sub">Paid ').length - 1
    assert.equal(await count(''), 1)
    assert.equal(await count(`?paidFrom=${today}`), 3)
  })
})
