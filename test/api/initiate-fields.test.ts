import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER, initiateBody, newReference } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const PATH = '/api/v1/checkout/initiate-payment'

const post = (body: unknown) => api.post(PATH, body)

/** The validation issues of a valid body with these changes; the request must store nothing. */
async function refused(changes: Record<string, unknown>, code: Parameters<typeof assertApiError>[1]) {
  let details: string[] = []
  await assertNothingStored(service.db, service.demoKey, async () => {
    details = assertApiError(await post(initiateBody(changes)), code)
  })
  return details
}

describe('the fields of an initiate request', () => {
  it('requires amount, reference and customer, and reports all missing fields at once', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      const details = assertApiError(await post({}), 'validation_failed')
      assert.deepEqual(details.sort(), ['amount: required', 'customer: required', 'reference: required'])
    })
  })

  it('requires email, firstname and lastname of the customer, reported under dotted names', async () => {
    const details = await refused({ customer: {} }, 'validation_failed')
    assert.deepEqual(details.sort(), [
      'customer.email: required',
      'customer.firstname: required',
      'customer.lastname: required',
    ])
  })

  it('rejects null for a required field', async () => {
    const wrong = { amount: null, reference: null, customer: { ...CUSTOMER, email: null } }
    const details = await refused(wrong, 'validation_failed')
    assert.deepEqual(details.sort(), [
      'amount: invalid_type',
      'customer.email: invalid_type',
      'reference: invalid_type',
    ])
  })

  it('treats null for an optional field as absent', async () => {
    const nothing = {
      description: null,
      metadata: null,
      currency: null,
      country: null,
      redirectUrl: null,
      isRecurring: null,
    }
    const answer = await post(initiateBody({ ...nothing, customer: { ...CUSTOMER, country: null } }))
    assert.equal(answer.http, 201, answer.text)
    const { data } = answer.body
    assert.equal(data.sourceCurrency, 'USD')
    assert.equal(data.isRecurring, false)
    assert.deepEqual(data.metadata, {})
    assert.equal(data.description, null)
  })

  it('rejects unknown fields and names all of them', async () => {
    const extra = {
      status: 'successful',
      merchantId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
      fee: 0,
      paymentGateway: 'paystack',
      expiresAt: null,
    }
    const body = initiateBody({ ...extra, customer: { ...CUSTOMER, role: 'admin' } })
    assert.deepEqual(
      assertApiError(await post(body), 'unknown_field'),
      [...Object.keys(extra), 'customer.role'].map((field) => `${field}: unknown_field`),
    )
  })

  it('stores a key named __proto__ as data and protects prototypes (F-63)', async () => {
    const { amount, reference } = initiateBody()
    const metadata = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const customer = JSON.stringify(CUSTOMER)
    const answer = await api.postText(
      PATH,
      `{"amount":${amount},"reference":"${reference}","customer":${customer},"metadata":${metadata}}`,
    )
    assert.equal(answer.http, 201, answer.text)
    assert.ok(answer.text.includes('"__proto__":{"polluted":true}'))
    assert.equal('polluted' in {}, false)
  })

  it('reports the wrong type of any field by name, all at once', async () => {
    const wrong = {
      amount: '10',
      reference: 7,
      customer: { email: [], firstname: {}, lastname: 1, country: 254 },
      description: 1,
      metadata: 'text',
      redirectUrl: false,
      isRecurring: 'yes',
    }
    const details = await refused(wrong, 'validation_failed')
    assert.deepEqual(details.sort(), [
      'amount: invalid_type',
      'customer.country: invalid_type',
      'customer.email: invalid_type',
      'customer.firstname: invalid_type',
      'customer.lastname: invalid_type',
      'description: invalid_type',
      'isRecurring: invalid_type',
      'metadata: invalid_type',
      'redirectUrl: invalid_type',
      'reference: invalid_type',
    ])
    assert.deepEqual(await refused({ metadata: ['a list'] }, 'validation_failed'), ['metadata: invalid_type'])
    assert.deepEqual(await refused({ customer: 'Amina' }, 'validation_failed'), ['customer: invalid_type'])
  })

  it('reports issues of the schema and of the rules together, each field once', async () => {
    const wrong = {
      amount: 10.005,
      reference: ' padded',
      customer: { ...CUSTOMER, email: 'nobody', country: 'ZZ' },
      country: 'NG',
      redirectUrl: 'javascript:alert(1)',
      metadata: { ok: 'x'.repeat(501) },
    }
    const details = await refused(wrong, 'validation_failed')
    assert.deepEqual(details.sort(), [
      'amount: amount_precision',
      'country: invalid_country',
      'customer.country: invalid_format',
      'customer.email: invalid_format',
      'metadata.ok: too_long',
      'redirectUrl: invalid_format',
      'reference: invalid_format',
    ])
  })

  it('answers a single validation issue with its own code', async () => {
    assert.deepEqual(await refused({ amount: 10.005 }, 'amount_precision'), ['amount: amount_precision'])
  })
})

describe('the currency and the country of a payment', () => {
  it('rejects an unknown or lower-case currency as invalid_currency', async () => {
    for (const currency of ['XXX', 'kes', 'KES ', '', 'toString', 404, ['KES']]) {
      assert.deepEqual(await refused({ currency }, 'invalid_currency'), ['currency: invalid_currency'])
    }
  })

  it('requires a country for XOF and XAF, and lists the countries', async () => {
    for (const currency of ['XOF', 'XAF']) {
      const answer = await post(initiateBody({ amount: 1000, currency }))
      assert.deepEqual(assertApiError(answer, 'country_required'), ['country: country_required'])
    }
    const answer = await post(initiateBody({ amount: 1000, currency: 'XOF' }))
    assert.match(answer.body.error.details[0].message, /BJ, BF, CI, GW, ML, NE, SN, TG/)
  })

  it('rejects an unknown country, or one that does not use the currency, as invalid_country', async () => {
    for (const [currency, country] of [
      ['KES', 'NG'],
      ['XOF', 'CM'],
      ['XAF', 'SN'],
      ['USD', 'ZZ'],
      ['KES', 'KEN'],
      ['KES', ''],
      ['KES', 'K1'],
    ]) {
      const details = await refused({ amount: 1000, currency, country }, 'invalid_country')
      assert.deepEqual(details, ['country: invalid_country'], `${currency} ${country}`)
    }
  })

  it('accepts countries in either case and returns them in upper case', async () => {
    const answer = await post(initiateBody({ amount: 1000, currency: 'XAF', country: 'cm' }))
    assert.equal(answer.body.data.country, 'CM')
  })

  it('returns the only country of a currency when none was sent, and none for a shared currency', async () => {
    const countryOf = async (currency: string) =>
      (await post(initiateBody({ amount: 1000, currency }))).body.data.country
    assert.equal(await countryOf('KES'), 'KE')
    assert.equal(await countryOf('UGX'), 'UG')
    assert.equal(await countryOf('EUR'), null)
  })

  it('serves all 28 currencies in the sandbox', async () => {
    const codes =
      'BDT BIF BWP CAD CDF EGP ETB EUR GBP GHS GMD KES LRD LSL MUR MWK MZN NGN RWF SLE SSP TZS UGX USD XAF XOF ZAR ZMW'
    const countries: Record<string, string> = { XAF: 'GA', XOF: 'CI' }
    const answers = await Promise.all(
      codes
        .split(' ')
        .map((currency) => post(initiateBody({ amount: 1000, currency, country: countries[currency] }))),
    )
    for (const answer of answers) {
      assert.equal(answer.http, 201, answer.text)
      assert.equal(answer.body.data.sourceAmount, '1000.00')
    }
    assert.equal(answers.length, 28)
  })

  it('accepts any country of the customer, and does not route by it', async () => {
    const customer = { ...CUSTOMER, email: 'abroad@example.com', country: 'de' }
    const answer = await post(initiateBody({ customer, reference: newReference() }))
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.body.data.country, 'KE')
    const record = await api.get(`/api/v1/customers/${answer.body.data.customer.uuid}`)
    assert.equal(record.body.data.country, 'DE')
  })

  it('takes the phone number of the customer as people write it, and shows it on the page', async () => {
    const customer = { ...CUSTOMER, email: 'with-phone@example.com', phone: '0712 345-678' }
    const body = initiateBody({ customer })
    const { data } = (await post(body)).body
    assert.equal(data.customer.phone, '+254712345678')
    const record = (await api.get(`/api/v1/customers/${data.customer.uuid}`)).body.data
    assert.equal(record.phone, '+254712345678')
    const again = await post({ ...body, customer: { ...customer, phone: '+254712345678' } })
    assert.equal(again.headers.get('idempotent-replayed'), 'true', 'the same number is the same request')
    const page = await (await fetch(data.checkoutUrl)).text()
    assert.match(page, /<input type="tel" [^>]*value="0712 345 678"/)

    const { data: next } = (await post(initiateBody({ customer: { ...CUSTOMER, email: customer.email } })))
      .body
    assert.equal(next.customer.phone, undefined)
    const nextPage = await (await fetch(next.checkoutUrl)).text()
    assert.match(nextPage, /<input type="tel" [^>]*value=""/, 'only what was sent with this payment is shown')
    const kept = (await api.get(`/api/v1/customers/${data.customer.uuid}`)).body.data
    assert.deepEqual([kept.phone, kept.updatedAt], [record.phone, record.updatedAt])
  })

  it('rejects a phone number that cannot be prompted', async () => {
    for (const phone of ['0712', 'call me', '020 234 5678', '+99 123'])
      assert.deepEqual(
        await refused({ customer: { ...CUSTOMER, phone } }, 'validation_failed'),
        ['customer.phone: invalid_format'],
        phone,
      )
  })
})
