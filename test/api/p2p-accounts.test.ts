import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertErrorCode, assertSameApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { untilBlocked } from '../support/blocked-sessions.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { codesOf, operationsOf } from '../support/openapi.ts'
import { ACCOUNTS, BANK, dataOf, PAYMENTS, p2pBody, p2pMerchant, WALLET } from '../support/p2p.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api, requestTransfer, confirm, read } = await p2pMerchant(service, WALLET)

const otherMerchant = await service.newMerchant()
const theirs = await requestTransfer()
const otherAccount = await dataOf(api.post(ACCOUNTS, { ...BANK, currency: 'BWP' }))

const EVERY_OPERATION: [method: string, path: string][] = [
  ['POST', ACCOUNTS],
  ['GET', ACCOUNTS],
  ['GET', `${ACCOUNTS}/${otherAccount.uuid}`],
  ['PATCH', `${ACCOUNTS}/${otherAccount.uuid}`],
  ['DELETE', `${ACCOUNTS}/${otherAccount.uuid}`],
  ['POST', PAYMENTS],
  ['GET', PAYMENTS],
  ['GET', `${PAYMENTS}/${theirs.uuid}`],
  ...['mark-paid', 'confirm', 'reject', 'cancel'].map((word): [string, string] => [
    'POST',
    `${PAYMENTS}/${theirs.uuid}/${word}`,
  ]),
]

const send = (by: Api, method: string, path: string) =>
  by.send(method, path, {
    ...(method !== 'GET' && {
      headers: { 'content-type': 'application/json' },
      body: path.endsWith('/confirm') ? '{"receivedAmount":5000}' : '{}',
    }),
  })

describe('access to P2P operations', () => {
  it('requires a key with a scope of P2P for every P2P operation', async () => {
    const other = await service.newMerchant(['checkout:write', 'checkout:read'])
    for (const [method, path] of EVERY_OPERATION) {
      assertErrorCode(await send(service.apiWith(undefined), method, path), 401, 'missing_api_key')
      assertErrorCode(await send(other.api, method, path), 403, 'insufficient_scope')
    }
  })

  it('answers the same for P2P records of another merchant as for unknown ones', async () => {
    for (const [method, path] of EVERY_OPERATION.filter(([, one]) => /-[0-9a-f]{12}/.test(one))) {
      const code = path.startsWith(ACCOUNTS) ? 'p2p_account_not_found' : 'p2p_payment_not_found'
      const unknown = path.replace(/[0-9a-f-]{36}/, UNKNOWN_UUID)
      assertSameApiError(
        await send(otherMerchant.api, method, path),
        await send(otherMerchant.api, method, unknown),
        code,
      )
      assertApiError(await send(api, method, path.replace(/[0-9a-f-]{36}/, 'none')), 'invalid_uuid')
    }
    for (const list of [ACCOUNTS, PAYMENTS]) assert.deepEqual(await dataOf(otherMerchant.api.get(list)), [])
    assert.equal((await read(theirs.uuid)).transferStatus, 'awaiting_payment')
  })

  it('rejects P2P actions on a payment that is not paid by transfer', async () => {
    const body = { ...p2pBody(), currency: 'KES' }
    const { uuid } = await dataOf(api.post('/api/v1/checkout/initiate-payment', body))
    assertApiError(await api.get(`${PAYMENTS}/${uuid}`), 'p2p_payment_not_found')
    assertApiError(await confirm(uuid, 5000), 'p2p_payment_not_found')
  })
})

describe('receiving accounts', () => {
  it('stores a receiving account as payers will see it, the phone with its country code', async () => {
    const { uuid, createdAt, updatedAt, ...account } = await dataOf(otherMerchant.api.post(ACCOUNTS, WALLET))
    const phoneNumber = '+211912345678'
    assert.deepEqual(account, { ...WALLET, phoneNumber, accountNumber: null, bankName: null, isActive: true })
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(await dataOf(otherMerchant.api.get(`${ACCOUNTS}/${uuid}`)), {
      uuid,
      createdAt,
      updatedAt,
      ...account,
    })
    const bank = await dataOf(otherMerchant.api.post(ACCOUNTS, { ...BANK, country: null, phoneNumber: '1' }))
    assert.deepEqual([bank.country, bank.phoneNumber, bank.accountNumber], [null, null, BANK.accountNumber])
  })

  it('rejects a receiving account with every validation issue at once, and stores nothing', async () => {
    const wrong: [object, string, string[]][] = [
      [{}, 'validation_failed', ['accountName: required', 'channel: required', 'currency: required']],
      [
        { ...WALLET, network: null, phoneNumber: null },
        'validation_failed',
        ['network: required', 'phoneNumber: required'],
      ],
      [{ ...WALLET, network: 'mpesa_ke' }, 'validation_failed', ['network: not_allowed']],
      [{ ...WALLET, phoneNumber: '+254712345678' }, 'validation_failed', ['phoneNumber: invalid_format']],
      [{ ...WALLET, phoneNumber: 'Juba 7' }, 'validation_failed', ['phoneNumber: invalid_format']],
      [{ ...WALLET, currency: 'EUR', country: null }, 'country_required', ['country: country_required']],
      [{ ...BANK, accountNumber: null }, 'validation_failed', ['accountNumber: required']],
      [{ ...BANK, accountNumber: '12<b>' }, 'validation_failed', ['accountNumber: invalid_format']],
      [
        { ...BANK, accountNumber: `${'1'.repeat(48)}!` },
        'validation_failed',
        ['accountNumber: invalid_format'],
      ],
      [{ ...BANK, currency: 'XOF' }, 'country_required', ['country: country_required']],
      [{ ...BANK, country: 'KE' }, 'invalid_country', ['country: invalid_country']],
      [{ ...BANK, currency: 'JPY' }, 'invalid_currency', ['currency: invalid_currency']],
      [
        { ...BANK, accountNumber: '4242 4242 4242 4242' },
        'card_data_not_allowed',
        ['accountNumber: card_data_not_allowed'],
      ],
      [
        { ...BANK, bankName: 'x 4242424242424242' },
        'card_data_not_allowed',
        ['bankName: card_data_not_allowed'],
      ],
    ]
    const before = (await dataOf(api.get(ACCOUNTS))).length
    for (const [body, code, details] of wrong) {
      const answer = await api.post(ACCOUNTS, body)
      assert.equal(answer.body?.error?.code, code, answer.text)
      const found = answer.body.error.details.map(
        (one: { field: string; code: string }) => `${one.field}: ${one.code}`,
      )
      assert.deepEqual(found.toSorted(), details)
    }
    assert.equal((await dataOf(api.get(ACCOUNTS))).length, before)
  })

  it('accepts an account number with letters, whatever its digits look like', async () => {
    const accountNumber = 'GB33 4242 4242 4242 4242'
    const body = { ...BANK, currency: 'GBP', accountNumber }
    assert.equal((await dataOf(otherMerchant.api.post(ACCOUNTS, body))).accountNumber, accountNumber)
  })

  it('creates one receiving account per Idempotency-Key', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { ...BANK, currency: 'LSL' }
    const first = await otherMerchant.api.post(ACCOUNTS, body, headers)
    const again = await otherMerchant.api.post(ACCOUNTS, body, headers)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(again.body.data, first.body.data)
    assertApiError(
      await otherMerchant.api.post(ACCOUNTS, { ...body, bankName: 'Other' }, headers),
      'idempotency_key_reused',
    )
    assert.equal((await dataOf(otherMerchant.api.get(`${ACCOUNTS}?currency=LSL`))).length, 1)
  })

  it('lists, filters and pages receiving accounts', async () => {
    const { api: many } = await p2pMerchant(service, WALLET, BANK, { ...BANK, currency: 'KES' })
    const names = async (query: string) =>
      (await dataOf(many.get(`${ACCOUNTS}?${query}`))).map(
        ({ channel, currency }: { channel: string; currency: string }) => `${channel} ${currency}`,
      )
    assert.deepEqual(await names(''), ['bank_transfer KES', 'bank_transfer SSP', 'mobile_money SSP'])
    assert.deepEqual(await names('currency=SSP&channel=bank_transfer'), ['bank_transfer SSP'])
    assert.deepEqual(await names('sort=createdAt:asc&limit=1'), ['mobile_money SSP'])
    const { body } = await many.get(`${ACCOUNTS}?limit=2`)
    assert.deepEqual([body.meta.total, body.meta.hasNext], [3, true])
    assert.deepEqual(await names(`limit=2&cursor=${body.meta.nextCursor}`), ['mobile_money SSP'])
    assertApiError(await many.get(`${ACCOUNTS}?limit=0`), 'validation_failed')
    assertApiError(await many.get(`${ACCOUNTS}?currency=JPY`), 'invalid_currency')
  })

  it('keeps showing a changed, disabled or deleted account to payers who already saw it', async () => {
    const own = await p2pMerchant(service, WALLET)
    const [{ uuid }] = await dataOf(own.api.get(ACCOUNTS))
    const transfer = await own.requestTransfer()
    const change = (body: object) =>
      own.api.send('PATCH', `${ACCOUNTS}/${uuid}`, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    assertApiError(await change({ phoneNumber: '1' }), 'validation_failed')
    assertApiError(await change({ network: 'mpesa_ke' }), 'validation_failed')
    const changed = await dataOf(change({ phoneNumber: '0912 345 679', bankName: 'None' }))
    assertApiError(await change({ currency: 'KES' }), 'unknown_field')
    assert.deepEqual(
      [changed.phoneNumber, changed.currency, changed.bankName, changed.network],
      ['+211912345679', 'SSP', null, 'mgurush_ss'],
    )
    assert.equal((await own.requestTransfer()).instructions.phoneNumber, '+211912345679')
    await dataOf(change({ isActive: false }))
    assert.equal((await dataOf(change({ accountName: 'Other Shop Ltd' }))).isActive, false)
    assertApiError(await own.api.post(PAYMENTS, p2pBody()), 'p2p_account_required')
    await dataOf(own.api.send('DELETE', `${ACCOUNTS}/${uuid}`))
    assertApiError(await own.api.get(`${ACCOUNTS}/${uuid}`), 'p2p_account_not_found')
    const kept = await dataOf(own.api.get(`${PAYMENTS}/${transfer.uuid}`))
    assert.deepEqual(kept.instructions, transfer.instructions)
    assert.equal(
      (await dataOf(own.act(transfer.uuid, 'confirm', { receivedAmount: 5000 }))).status,
      'successful',
    )
  })

  it('does not show an account that is deleted while a transfer is opened', ONE_DATABASE, async () => {
    const own = await p2pMerchant(service, WALLET)
    const [{ uuid }] = await dataOf(own.api.get(ACCOUNTS))
    const { opening } = await service.db.transaction(async (tx) => {
      await tx.query(deleteAccount, [uuid])
      const opening = own.api.post(PAYMENTS, p2pBody())
      // The transfer now waits for our lock, with an account that is about to be deleted.
      await untilBlocked(tx)
      return { opening }
    })
    const answer = await opening
    assert.ok(answer.http < 500, answer.text)
    assert.notEqual(answer.body.data?.status, 'processing', 'no transfer without an account stays open')
  })

  it('does not replay an Idempotency-Key of a deleted account, as documented', async () => {
    const own = await p2pMerchant(service)
    const key = { 'idempotency-key': randomUUID() }
    const { uuid } = await dataOf(own.api.post(ACCOUNTS, WALLET, key))
    await dataOf(own.api.send('DELETE', `${ACCOUNTS}/${uuid}`))
    assertApiError(await own.api.post(ACCOUNTS, WALLET, key), 'invalid_state')
    const operations = operationsOf((await own.api.get('/openapi.json')).body)
    const create = operations.find(({ name }) => name === `POST ${ACCOUNTS}`)
    assert.ok(create && codesOf(create)[409]?.includes('invalid_state'))
  })
})

const deleteAccount = sql<unknown>`
delete from p2p_accounts
where id = $1`
