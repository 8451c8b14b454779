import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { uuidToBase36 } from '../../../src/core/ids.ts'
import { money } from '../../../src/core/money.ts'
import type { RefundRequest } from '../../../src/gateways/gateway.ts'
import { SSLCOMMERZ } from '../../../src/gateways/sslcommerz/index.ts'
import { STORE, tranIdOf } from './fake.ts'
import { ATTEMPT, callbackUrl, openOn, RETURN_URL, readFixture, replay, startSslcommerz } from './rig.ts'

const CARD = { channel: 'card' } as const
const BANK_TRANSACTION = '2611170951231vYhUdWqG9cpTsP'
const REFUND_ID = '59bd63fea5455'

const REFUND: RefundRequest = {
  key: '0e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  attemptKey: ATTEMPT.key,
  attemptReference: '261117095123KMlHyv5DcSYqGJE',
  amount: money(1_050n, 'BDT'),
  isFull: false,
  receiptNumber: BANK_TRANSACTION,
}

describe('the requests to SSLCommerz', () => {
  it('ask for a page as a form, with the secret address of the attempt', async (t) => {
    const { provider, start } = await startSslcommerz(t)
    assert.equal((await start(ATTEMPT)).kind, 'started')
    const [made] = provider.server.requests
    assert.equal(`${made?.method} ${made?.path}`, 'POST /gwprocess/v4/api.php')
    assert.equal(made?.headers['content-type'], 'application/x-www-form-urlencoded')
    assert.deepEqual(Object.fromEntries(new URLSearchParams(made?.text)), {
      store_id: STORE.storeId,
      store_passwd: STORE.storePassword,
      total_amount: '1250.50',
      currency: 'BDT',
      tran_id: tranIdOf(ATTEMPT.key),
      success_url: RETURN_URL,
      fail_url: RETURN_URL,
      cancel_url: RETURN_URL,
      ipn_url: callbackUrl({ kind: 'attempt', key: ATTEMPT.key }),
      emi_option: '0',
      cus_name: 'Nusrat Jahan',
      cus_email: 'nusrat@example.com',
      cus_phone: '+8801712345678',
      cus_add1: 'Not given',
      cus_city: 'Dhaka',
      cus_country: 'Bangladesh',
      shipping_method: 'NO',
      num_of_item: '1',
      product_name: 'Two books & more',
      product_category: 'General',
      product_profile: 'general',
    })
  })

  it('have a placeholder for the number of a payer that is not known', async (t) => {
    const { provider, start } = await startSslcommerz(t)
    const { phone: _phone, ...customer } = ATTEMPT.customer
    await start({ ...ATTEMPT, customer })
    assert.equal(new URLSearchParams(provider.server.requests[0]?.text).get('cus_phone'), '01700000000')
  })

  it('write amounts as decimals, from the minimum to the maximum', async (t) => {
    const { provider, start } = await startSslcommerz(t)
    for (const minor of [1_000n, 1_001n, 123_400n, 50_000_000n])
      await start({ ...ATTEMPT, amount: money(minor, 'BDT') })
    const amounts = provider.server.requests.map(({ text }) => new URLSearchParams(text).get('total_amount'))
    assert.deepEqual(amounts, ['10.00', '10.01', '1234.00', '500000.00'])
  })

  it('ask for the transactions of a payment, and then for the validation of the paid one', async (t) => {
    const { provider, gateway, startNew } = await startSslcommerz(t)
    const { attempt, reference } = await startNew()
    await provider.finish(attempt.key, { kind: 'pays' })
    const paid = await gateway.verify(attempt, reference)
    assert.ok(paid.kind === 'succeeded', inspect(paid))
    const store = { store_id: STORE.storeId, store_passwd: STORE.storePassword, v: '1', format: 'json' }
    assert.deepEqual(
      provider.server.requests.slice(1).map(({ path, query }) => [path, Object.fromEntries(query)]),
      [
        ['/validator/api/merchantTransIDvalidationAPI.php', { tran_id: tranIdOf(attempt.key), ...store }],
        ['/validator/api/validationserverAPI.php', { val_id: paid.gatewayReference, ...store }],
      ],
    )
  })

  it('refund the transaction of the bank, under our key in both of its fields', async (t) => {
    let query = {}
    const gateway = await replay(t, (request) => {
      query = Object.fromEntries(request.query)
      return readFixture('refund')
    })
    await gateway.refund?.(REFUND)
    assert.deepEqual(query, {
      bank_tran_id: BANK_TRANSACTION,
      refund_amount: '10.50',
      refund_remarks: 'Refund',
      refund_trans_id: uuidToBase36(REFUND.key),
      refe_id: REFUND.key,
      store_id: STORE.storeId,
      store_passwd: STORE.storePassword,
      v: '1',
      format: 'json',
    })
  })
})

describe('the pages of SSLCommerz', () => {
  const open = async (t: TestContext, body: unknown) =>
    (await replay(t, () => body)).startCheckout(ATTEMPT, CARD, RETURN_URL)

  it('are opened, as documented', async (t) => {
    const { sessionkey: gatewayReference, GatewayPageURL: url } = readFixture('session')
    assert.deepEqual(await open(t, readFixture('session')), {
      kind: 'started',
      gatewayReference,
      next: { kind: 'redirect', url },
    })
  })

  it('are refused with HTTP 200, and another gateway is tried', async (t) => {
    const outcome = await open(t, readFixture('session-failed'))
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.match(outcome.message, /store id and password/)
  })

  it('may exist already if the reason is the tran_id, so nothing is refused', async (t) => {
    const failedreason = 'Duplicate tran_id'
    const outcome = await open(t, { ...readFixture('session-failed'), failedreason })
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'no_answer', inspect(outcome))
  })
})

describe('the transactions of SSLCommerz', () => {
  const found = readFixture('transactions')
  const [failed, paid] = found.element

  const verify = async (t: TestContext, element: object[], validation = readFixture('validation')) => {
    const listed = { ...found, no_of_trans_found: element.length, element }
    const gateway = await replay(t, ({ path }) => (path.includes('validationserver') ? validation : listed))
    return gateway.verify(ATTEMPT, 'SESSION')
  }

  const SUCCESS = {
    kind: 'succeeded',
    gatewayReference: '261117095123KMlHyv5DcSYqGJE',
    receiptNumber: BANK_TRANSACTION,
    paid: money(125_050n, 'BDT'),
    fee: money(3_126n, 'BDT'),
    key: ATTEMPT.key,
    savedMethod: null,
    // Times are those of Dhaka.
    paidAt: new Date('2026-11-17T03:51:23Z'),
  } as const

  it('are paid if one of several tries was, also when it is validated again', async (t) => {
    assert.deepEqual(await verify(t, [failed, paid]), SUCCESS)
    const again = { ...readFixture('validation'), status: 'VALIDATED' }
    assert.deepEqual(await verify(t, [{ ...paid, status: 'VALIDATED' }, failed], again), SUCCESS)
  })

  it('are paid with amounts that are JSON numbers, and with a risk that SSLCommerz only reports', async (t) => {
    const validation = {
      ...readFixture('validation'),
      amount: 1250.5,
      store_amount: 1219.24,
      risk_level: '1',
    }
    assert.deepEqual(await verify(t, [paid], validation), SUCCESS)
  })

  it('are not paid without the validation of the same transaction', async (t) => {
    const others = [
      { ...readFixture('validation'), status: 'INVALID_TRANSACTION' },
      { ...readFixture('validation'), val_id: 'another' },
      { ...readFixture('validation'), amount: '1250.505' },
      { APIConnect: 'INVALID_REQUEST' },
    ]
    for (const validation of others) assert.equal((await verify(t, [paid], validation)).kind, 'unknown')
  })

  it('are pending while one of several tries is, and unknown while one is unknown', async (t) => {
    const withStatuses = (...statuses: string[]) =>
      verify(
        t,
        statuses.map((status) => ({ ...failed, status })),
      )
    const outcome = await withStatuses('FAILED', 'PENDING', 'CANCELLED')
    assert.deepEqual(outcome, { kind: 'pending', gatewayReference: 'SESSION' })
    assert.equal((await withStatuses('FAILED', 'HELD', 'PENDING')).kind, 'unknown')
    const declined = await verify(t, [failed])
    assert.ok(declined.kind === 'declined' && declined.code === 'insufficient_funds', inspect(declined))
  })

  it('do not exist before the payer tries: the page is open, or was never made', async (t) => {
    const gateway = await replay(t, () => ({ APIConnect: 'DONE', no_of_trans_found: 0, element: [] }))
    const open = await gateway.verify(ATTEMPT, 'SESSION')
    assert.deepEqual(open, { kind: 'pending', gatewayReference: 'SESSION' })
    const never = await gateway.verify(ATTEMPT, null)
    assert.ok(never.kind === 'unknown' && never.reason === 'not_found', inspect(never))
  })
})

describe('the refunds of SSLCommerz', () => {
  const refund = async (t: TestContext, body: unknown, request = REFUND) =>
    (await replay(t, () => body)).refund?.(request)
  const check = async (t: TestContext, changes: object) =>
    (await replay(t, () => ({ ...readFixture('refund-status'), ...changes }))).verifyRefund?.(
      REFUND,
      REFUND_ID,
    )

  it('begin, and end when SSLCommerz has returned the money or cancelled them, as documented', async (t) => {
    const begun = { kind: 'pending', gatewayReference: REFUND_ID }
    assert.deepEqual(await refund(t, readFixture('refund')), begun)
    assert.deepEqual(await check(t, { status: 'processing' }), begun)
    assert.deepEqual(await check(t, {}), { kind: 'succeeded', gatewayReference: REFUND_ID })
    assert.equal((await check(t, { status: 'cancelled' }))?.kind, 'failed')
    assert.equal((await check(t, { refund_ref_id: 'another' }))?.kind, 'unknown')
  })

  it('had no effect if the address of the server is not registered, and are sent again later', async (t) => {
    for (const word of ['INVALID_REQUEST', 'INACTIVE', 'FAILED']) {
      const outcome = await refund(t, { APIConnect: word })
      assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    }
  })

  it('are not confused with another refund of the payment that has begun before', async (t) => {
    const others = [
      await refund(t, { ...readFixture('refund'), status: 'processing' }),
      await refund(t, readFixture('refund'), { ...REFUND, otherReferences: [REFUND_ID] }),
    ]
    for (const outcome of others)
      assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'unrecognized', inspect(outcome))
  })

  it('are not sent without the transaction of the bank', async (t) => {
    const { receiptNumber: _none, ...request } = REFUND
    const outcome = await openOn(t, 'http://127.0.0.1:1').refund?.(request)
    assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
  })
})

describe('the credentials of SSLCommerz', () => {
  it('have no spaces or line breaks', () => {
    for (const { validate } of SSLCOMMERZ.credentials) {
      assert.equal(validate('testbox', 'test'), undefined)
      for (const text of ['', 'a b c', 'testbox\n']) assert.match(validate(text, 'test') ?? '', /^must be/)
    }
  })
})
