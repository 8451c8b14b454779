// The files that finance downloads in the dashboard: the report that is shown, and what an accountant needs of a month.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newReference, payWith } from '../support/builders.ts'
import { signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

describe('files of reports', () => {
  let shop: Awaited<ReturnType<typeof service.newMerchant>>
  let person: Visitor
  let paid: { uuid: string; reference: string; paidAt: string }

  before(async () => {
    shop = await service.newMerchant()
    person = await signInAs(service, shop.uuid, 'finance')
    paid = await payWith(shop.api, 'card_success')
  })

  const nameOf = ({ headers }: Awaited<ReturnType<Visitor['get']>>) =>
    /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1]

  it('exports the report that is shown', async () => {
    const { text } = await person.get('/app/reports?by=gateway')
    const [, address = ''] = /href="(\/app\/reports\/export[^"]*)"/.exec(text) ?? []
    const file = await person.get(address.replaceAll('&amp;', '&'))
    assert.match(nameOf(file) ?? '', /^collections-gateway-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/)
    const [head, row] = file.text.split('\r\n')
    assert.match(head ?? '', /day,currency,paymentGateway,channel,status,payments,paidPayments,amountPaid/)
    assert.match(row ?? '', /^"","KES","sandbox","","","1","1","1250\.50"/)
  })

  it('exports a month of payments, refunds and the statement, in the zone of the merchant', async () => {
    const { text } = await person.get('/app/reports')
    assert.match(text, /Monthly export/)
    const months = [...text.matchAll(/<option value="(\d{4}-\d\d)"( selected)?>/g)]
    assert.equal(
      months.findIndex(([, , selected]) => selected !== undefined),
      1,
    )
    const month = String(paid.paidAt).slice(0, 7)
    for (const [name, expected] of [
      ['payments', paid.reference],
      ['statement', paid.reference],
      ['refunds', 'gatewayReference'],
    ] as const) {
      const file = await person.get(`/app/reports/month?month=${month}&file=${name}`)
      assert.equal(nameOf(file), `${name}-${month}.csv`)
      assert.ok(file.text.includes(expected), name)
    }
    const [, before] = months.map(([, value]) => value)
    const usual = await person.get('/app/reports/month')
    assert.equal(nameOf(usual), `payments-${before}.csv`)
    assert.equal(usual.text.includes(paid.reference), before === month)
  })

  it('refuses a month or a file that does not exist, and says so on the screen', async () => {
    for (const query of ['month=2026-99&file=payments', 'month=1999-01', 'file=zz', 'file=constructor']) {
      const file = await person.get(`/app/reports/month?${query}`)
      assert.deepEqual([file.http, file.headers.get('location')], [303, `/app/reports?${query}`])
      const { http, text } = await person.get(`/app/reports?${query}`)
      assert.equal(http, 422, query)
      assert.match(text, /role="alert">There is no file of this month or with this name\./)
      assert.match(text, /href="\/app\/reports\/export"/)
    }
  })

  it('gives accountants the same few columns of payments and successful refunds', async () => {
    const owned = await service.newMerchant()
    const settings = { timeZone: 'Pacific/Kiritimati' }
    const saved = await service.admin.send('PATCH', `/admin/v1/merchants/${owned.uuid}`, {
      body: JSON.stringify({ settings }),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(saved.http, 200, saved.text)
    const reader = await signInAs(service, owned.uuid, 'finance')
    const customer = { firstname: '=SUM(1)', lastname: 'O"Neil', email: 'o@example.com' }
    const first = await payWith(owned.api, 'card_success', { customer })
    const refund = { reference: first.reference, amount: 50.5, refundReference: newReference() }
    assert.equal((await owned.api.post('/api/v1/refunds', refund)).body.data?.status, 'successful')
    // Kiritimati is 14 hours before UTC.
    const date = new Date(Date.parse(first.paidAt) + 14 * 3_600_000).toISOString().slice(0, 10)
    const fileOf = async (name: string) => {
      const { text } = await reader.get(`/app/reports/month?month=${date.slice(0, 7)}&file=${name}`)
      return text.replace('\uFEFF', '').trimEnd().split('\r\n')
    }
    const header = 'date,reference,customer,kind,gross,fee,net,currency,gateway,gatewayReference,status'
    const payments = await fileOf('payments')
    assert.deepEqual([payments[0], payments.length], [header, 2])
    const start = `"${date}","${first.reference}"`
    assert.ok(payments[1]?.startsWith(`${start},"'=SUM(1) O""Neil","payment","1250.50",`), payments[1])
    assert.ok(payments[1]?.endsWith(',"partially_refunded"'), payments[1])
    const refunds = await fileOf('refunds')
    assert.deepEqual([refunds[0], refunds.length], [header, 2])
    assert.ok(refunds[1]?.startsWith(`${start},"","refund","-50.50","0.00","-50.50","KES","sandbox",`))
  })
})
