// For tests: SSLCommerz as its documentation describes it. Everything is HTTP 200; credentials are in the form or the query;
// a page that no payer has tried to pay has no transaction.

import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'

export const STORE = { storeId: 'testbox5f41517d60625', storePassword: 'testbox5f41517d60625@ssl' }

/** As the connector is documented to write our key; written a second time, so that a mistake is not shared. */
export function tranIdOf(key: string): string {
  const digits = '0123456789abcdefghijklmnopqrstuvwxyz'
  let rest = BigInt(`0x${key.split('-').join('')}`)
  const text: string[] = []
  for (let place = 0; place < 25; place += 1) {
    text.unshift(digits.charAt(Number(rest % 36n)))
    rest /= 36n
  }
  return text.join('')
}

type Transaction = Record<string, string>

interface Session {
  fields: Record<string, string>
  transactions: Transaction[]
}

interface FakeRefund {
  refund_ref_id: string
  bank_tran_id: string
  amount: string
  status: string
}

const DHAKA_MS = 6 * 3_600_000
const localTime = () => addMs(systemClock.now(), DHAKA_MS).toISOString().slice(0, 19).replace('T', ' ')
const id = () => randomBytes(10).toString('hex')
const ok = (body: object): FakeReply => ({ http: 200, body })
const connected = (body: object) => ok({ APIConnect: 'DONE', ...body })

const REQUIRED = [
  ...[
    'total_amount',
    'currency',
    'tran_id',
    'success_url',
    'fail_url',
    'cancel_url',
    'cus_name',
    'cus_email',
  ],
  ...['cus_phone', 'cus_add1', 'cus_city', 'cus_country', 'shipping_method', 'product_name'],
  ...['product_category', 'product_profile'],
]

function issueOf(fields: Record<string, string>): string | undefined {
  const missing = REQUIRED.find((name) => !fields[name])
  if (missing) return `'${missing}' is missing`
  if (fields.tran_id?.length && fields.tran_id.length > 30) return "'tran_id' must be at most 30 characters"
  if (!/^\d+(\.\d{1,2})?$/.test(fields.total_amount ?? '')) return "Invalid 'total_amount'"
  return undefined
}

function makeTransaction({
  total_amount = '0',
  currency = '',
  tran_id = '',
}: Record<string, string>): Transaction {
  return {
    val_id: id(),
    status: 'PENDING',
    tran_date: localTime(),
    tran_id,
    amount: total_amount,
    store_amount: (Number(total_amount) * 0.975).toFixed(2),
    bank_tran_id: id(),
    card_type: 'VISA-Dutch Bangla',
    currency_type: currency,
    currency_amount: total_amount,
    currency_rate: '1.0000',
    risk_level: '0',
    risk_title: 'Safe',
    error: '',
  }
}

function pay(transaction: Transaction, { minor, currency, key }: CheckoutEnding & { kind: 'pays' }): void {
  const amount = minor === undefined ? transaction.amount : (Number(minor) / 100).toFixed(2)
  Object.assign(transaction, {
    status: 'VALID',
    amount,
    currency_amount: amount,
    store_amount: (Number(amount) * 0.975).toFixed(2),
    ...(currency && { currency_type: currency }),
    ...(key && { tran_id: tranIdOf(key) }),
  })
}

const REFUND_STATES: Readonly<Record<RefundBehavior, string>> = {
  succeeds: 'refunded',
  waits: 'processing',
  fails: 'cancelled',
}

export interface FakeSslcommerz extends FakeProvider {
  /** The payer tries once more on the page, and the new transaction has this status. */
  addTry(key: string, status: string): void
}

export async function startFakeSslcommerz(t: TestContext): Promise<FakeSslcommerz> {
  /** By the tran_id of the request. */
  const sessions = new Map<string, Session>()
  const refunds: FakeRefund[] = []
  const executed: string[] = []
  let refundBehavior: RefundBehavior = 'succeeds'

  const all = () => [...sessions.values()].flatMap(({ transactions }) => transactions)

  const openSession = (fields: Record<string, string>): FakeReply => {
    if (fields.store_id !== STORE.storeId || fields.store_passwd !== STORE.storePassword)
      return ok({
        status: 'FAILED',
        failedreason: 'Store Credential Error Or Store is De-active',
        sessionkey: '',
      })
    const issue = issueOf(fields)
    if (issue) return ok({ status: 'FAILED', failedreason: issue, sessionkey: '', GatewayPageURL: '' })
    const sessionkey = id().toUpperCase()
    sessions.set(fields.tran_id ?? '', { fields, transactions: [] })
    const page = `https://sandbox.sslcommerz.com/EasyCheckOut/testcde${sessionkey}`
    return ok({ status: 'SUCCESS', failedreason: '', sessionkey, GatewayPageURL: page })
  }

  const refund = (fields: Record<string, string>): FakeReply => {
    const { bank_tran_id = '', refund_amount: amount = '' } = fields
    const paid = all().find((one) => one.bank_tran_id === bank_tran_id && one.status?.startsWith('VALID'))
    if (!paid) return connected({ status: 'failed', errorReason: 'No transaction found', refund_ref_id: '' })
    const made = { refund_ref_id: id(), bank_tran_id, amount, status: REFUND_STATES[refundBehavior] }
    refunds.push(made)
    const { refund_ref_id } = made
    return connected({
      bank_tran_id,
      trans_id: paid.tran_id,
      refund_ref_id,
      status: 'success',
      errorReason: '',
    })
  }

  const query = (fields: Record<string, string>): FakeReply => {
    if (fields.refund_ref_id) {
      const made = refunds.find((one) => one.refund_ref_id === fields.refund_ref_id)
      return made
        ? connected({ ...made, initiated_on: localTime() })
        : connected({ status: '', errorReason: '' })
    }
    if (fields.bank_tran_id) return refund(fields)
    const element = sessions.get(fields.tran_id ?? '')?.transactions ?? []
    return connected({ no_of_trans_found: element.length, element })
  }

  const validate = ({ val_id }: Record<string, string>): FakeReply => {
    const transaction = all().find((one) => one.val_id === val_id)
    if (!transaction?.status?.startsWith('VALID')) return connected({ status: 'INVALID_TRANSACTION' })
    const reply = connected({ ...transaction, validated_on: localTime() })
    transaction.status = 'VALIDATED'
    return reply
  }

  const server = await startFakeServer(t, async ({ method, path, query: given, text }) => {
    if (method === 'POST' && path === '/gwprocess/v4/api.php')
      return openSession(Object.fromEntries(new URLSearchParams(text)))
    const fields = Object.fromEntries(given)
    if (fields.store_id !== STORE.storeId || fields.store_passwd !== STORE.storePassword)
      return ok({ APIConnect: 'FAILED' })
    if (path === '/validator/api/merchantTransIDvalidationAPI.php') return query(fields)
    if (path === '/validator/api/validationserverAPI.php') return validate(fields)
    return { http: 404, body: '<html>Not found</html>' }
  })

  const requireSession = (key: string): Session => {
    const session = sessions.get(tranIdOf(key))
    if (!session) throw new Error('no such session')
    return session
  }

  return {
    server,
    finish(key, ending) {
      const { fields, transactions } = requireSession(key)
      const transaction = makeTransaction(fields)
      transactions.splice(0, transactions.length, transaction)
      if (ending.kind === 'declines') {
        const [status = '', error = ''] = ending.how.split(': ')
        Object.assign(transaction, { status, error })
      }
      if (ending.kind !== 'pays') return
      executed.push(key)
      pay(transaction, ending)
    },
    addTry(key, status) {
      const { fields, transactions } = requireSession(key)
      transactions.push({ ...makeTransaction(fields), status })
      if (status === 'VALID') executed.push(key)
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event) {
      const { fields, transactions } = requireSession(key)
      const facts = { ...(transactions[0] ?? makeTransaction(fields)), ...(event && { status: event }) }
      return signIpn(facts, fields.ipn_url ?? '')
    },
    setRefundBehavior(behavior) {
      refundBehavior = behavior
    },
    refunds(key) {
      const paid = requireSession(key).transactions[0]?.bank_tran_id
      return refunds
        .filter((one) => one.bank_tran_id === paid && one.status !== 'cancelled')
        .map(({ amount }) => BigInt(amount.replace('.', '')))
    },
  }
}

const md5 = (text: string) => createHash('md5').update(text).digest('hex')

/** The notification of a payment, with its signature. */
function signIpn(facts: Transaction, url: string): Webhook {
  const names = Object.keys(facts)
  const signed = { ...facts, store_passwd: md5(STORE.storePassword) }
  const text = Object.entries(signed)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  const body = new URLSearchParams({ ...facts, verify_key: names.join(','), verify_sign: md5(text) })
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    url,
    body: Buffer.from(body.toString()),
  }
}
