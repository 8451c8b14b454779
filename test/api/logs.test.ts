import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { createLog } from '../../src/kit/observability/log.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { chargeBody, initiateBody, newReference } from '../support/builders.ts'
import { createPayer, openCheckout } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { sendBytes } from '../support/raw-http.ts'
import { testService } from '../support/service.ts'

const lines: string[] = []
const collector = { write: (line: string) => void lines.push(line) }
const service = await testService({ after }, { log: createLog('debug', collector) })
const { api } = service
const anonymous = service.apiWith(undefined)
const payer = createPayer()
const INITIATE = '/api/v1/checkout/initiate-payment'

/** Unique texts that no other source can produce. */
const mark = (name: string) => `${name}${randomBytes(6).toString('hex')}`
const CARD = '4242424242424242'
const CANARY = {
  email: `${mark('mail')}@example.com`,
  firstname: mark('First'),
  lastname: mark('Last'),
  metadata: mark('meta'),
  metadataKey: mark('key'),
  description: mark('words'),
  reference: mark('ref'),
  query: mark('query'),
  header: mark('header'),
  path: mark('path'),
  token: `rtk_${mark('token')}`,
  key: mark('cowry_test_'),
  redirect: mark('back'),
  form: mark('form'),
  body: mark('body'),
}
const customer = { email: CANARY.email, firstname: CANARY.firstname, lastname: CANARY.lastname }
const canaryBody = (changes: object = {}) =>
  initiateBody({
    customer,
    reference: `${CANARY.reference}-${newReference()}`,
    description: CANARY.description,
    metadata: { [CANARY.metadataKey]: [CANARY.metadata, CARD] },
    redirectUrl: `https://shop.example/${CANARY.redirect}?card=${CARD}`,
    ...changes,
  })

const HEADERS = [
  'user-agent',
  'referer',
  'cookie',
  'authorization',
  'x-forwarded-for',
  'idempotency-key',
  'traceparent',
  'accept',
  'origin',
  'x-custom',
]

interface Line extends Record<string, unknown> {
  msg: string
}
const logged = (): Line[] => lines.map((line) => JSON.parse(line))

/** Secrets created during the run: keys, tokens, access codes. */
const secrets: string[] = []

describe('the log of a service', () => {
  it('logs one line per request, with its route and never its address', async () => {
    const { uuid, key, api: shop } = await service.newMerchant()
    secrets.push(key, key.slice(24))
    await shop.get(`/api/v1/customers/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f?x=${CANARY.query}`, {
      'x-request-id': 'request-of-the-log',
    })
    const mine = () => logged().filter((line) => line.requestId === 'request-of-the-log')
    const [line] = await eventually(
      async () => mine(),
      (found) => found.length > 0,
      5_000,
    )
    assert.ok(line)
    const { time, durationMs, level, ...rest } = line
    assert.deepEqual(rest, {
      key: 'http.request',
      msg: 'request',
      requestId: 'request-of-the-log',
      method: 'GET',
      route: '/api/v1/customers/:uuid',
      http: 400,
      address: '127.0.0.1',
      merchantId: uuid,
      keyId: key.split('_')[2],
      errorCode: 'unknown_field',
    })
    assert.ok(typeof time === 'string' && typeof durationMs === 'number' && level === 30)
    assert.equal(mine().length, 1)
  })

  it('does not log probes at info', async () => {
    const before = lines.length
    await anonymous.get('/healthz', { 'x-request-id': 'probe-probe-probe' })
    await eventually(
      async () => lines.length,
      (count) => count > before,
      5_000,
    )
    const probe = logged().find((line) => line.requestId === 'probe-probe-probe')
    assert.equal(probe?.level, 20, 'debug')
  })

  it('sends unique texts in every field of every operation', async () => {
    const paid = await openCheckout(api, payer, canaryBody())
    secrets.push(paid.checkoutUrl.split('/').at(-1) ?? '')
    await payer.payByCard(paid.page, 'card_success')
    const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${paid.reference}`)
    const { recurringToken } = verified.body.data.paymentMethod
    secrets.push(recurringToken)
    const wishes = {
      customer,
      metadata: { [CANARY.metadataKey]: CANARY.metadata },
      description: CANARY.description,
    }
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(recurringToken, wishes))
    assert.equal(charge.http, 201)
    await api.post('/api/v1/charges/recurring', chargeBody(CANARY.token, wishes))
    await api.get(`/api/v1/customers?search=${CANARY.email}&cursor=${CANARY.query}`)
    await api.get(`/api/v1/customers/${CANARY.path}/payment-methods`)
    await api.get(`/api/v1/wallet/balance?currency=${CANARY.query}`)
    await api.get(`/api/v1/sandbox/executions?reference=${paid.reference}`)
    for (const instrument of ['card_declined', 'transfer_underpaid', 'mobile_cancelled']) {
      const body = canaryBody()
      await api.post(INITIATE, body)
      await api.post(`/api/v1/sandbox/payments/${body.reference}/complete`, { instrument })
    }
  })

  it('sends unique texts in rejected bodies, headers, paths, keys and forms', async () => {
    const refused = [
      await api.post(INITIATE, canaryBody({ description: `card ${CARD}` })),
      await api.post(
        INITIATE,
        canaryBody({ amount: CANARY.body, currency: CANARY.body, country: CANARY.body }),
      ),
      await api.postText(INITIATE, `{"${CANARY.body}": ${CARD} ${CANARY.body}`),
      await api.postText(INITIATE, CANARY.body, { 'content-type': `text/${CANARY.header}` }),
      await api.postText(INITIATE, CANARY.body.padEnd(70_000, CARD)),
      await api.get(`/${CANARY.path}/${CARD}?${CANARY.query}=${CARD}`),
      await api.get(`/%${CANARY.path}`),
      await service.apiWith(CANARY.key).get(`/api/v1/customers?x-api-key=${CANARY.key}`),
      await api.send('DELETE', `/api/v1/customers/${CANARY.path}`),
      await anonymous.get(`/pay/${CANARY.path}`),
      await anonymous.postText('/hooks/sandbox', CANARY.body, { 'cowry-sandbox-signature': CANARY.header }),
      await anonymous.postText(`/hooks/${CANARY.path}`, CANARY.body),
      await anonymous.get('/admin/v1/merchants', { authorization: `Bearer ${CANARY.token}` }),
      await service.admin.post('/admin/v1/merchants', { name: '', settings: { [CANARY.metadataKey]: CARD } }),
    ]
    for (const { http } of refused) assert.ok(http >= 400)
    for (const name of HEADERS) await api.post(INITIATE, canaryBody(), { [name]: CANARY.header })
    const { checkoutUrl } = await openCheckout(api, payer, canaryBody())
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const page = new URL(checkoutUrl).pathname
    secrets.push(page.split('/').at(-1) ?? '')
    await anonymous.postText(
      `${page}/attempts`,
      `channel=${CANARY.form}&phone=${CANARY.form}&card=${CARD}`,
      form,
    )
    await anonymous.postText(`${page}/cancel`, `why=${CANARY.form}`, form)
    await sendBytes(service.url, `GET /${CANARY.path} NONSENSE\r\n${CANARY.header}\r\n\r\n`)
  })

  it('provokes internal errors with unique texts', async () => {
    await service.db.script(
      "alter table payments add constraint broken check (reference not like '%-breaks')",
    )
    const answer = await api.post(INITIATE, canaryBody({ reference: `${CANARY.reference}-breaks` }))
    assertErrorCode(answer, 500, 'internal_error')
    assert.ok(!answer.text.includes('broken') && !answer.text.includes(CANARY.reference))
    await service.db.script('alter table payments drop constraint broken')
    const { requestId } = answer.body.error
    const found = logged().find((line) => line.key === 'http.request_failed')
    assert.equal(found?.requestId, requestId)
    assert.match(String(found?.error), /violates check constraint "broken/)
    assert.equal(found?.sqlState, '23514')
  })

  it('logs none of the unique texts and secrets', async () => {
    const last = await anonymous.get('/nowhere')
    const lastId = last.headers.get('x-request-id')
    await eventually(async () => logged().some((line) => line.requestId === lastId), Boolean, 5_000)
    const recent = await service.admin.get('/admin/v1/logs?limit=500')
    assert.ok(recent.body.data.lines.length > 60, 'the buffered lines are the same')
    const all = `${lines.join('')}${recent.text}`
    assert.ok(lines.length > 60, `${lines.length} lines`)
    const { demoKey } = service
    const adminToken = 'a-token-of-the-tests'
    const forbidden = [
      ...Object.values(CANARY),
      ...secrets,
      CARD,
      demoKey?.slice(24) ?? '',
      adminToken,
      CANARY.email.toLowerCase(),
    ]
    for (const canary of forbidden) {
      assert.ok(canary.length >= 8)
      assert.ok(
        !all.includes(canary),
        lines.find((line) => line.includes(canary)),
      )
    }
    assert.ok(!/tok_[0-9a-f]|rtk_|@example/.test(all))
  })

  it('logs only listed fields', () => {
    const known = new Set([
      'level',
      'time',
      'msg',
      'key',
      'requestId',
      'method',
      'route',
      'http',
      'durationMs',
      'merchantId',
      'keyId',
      'operatorId',
      'address',
      'paymentId',
      'attemptId',
      'gateway',
      'outcome',
      'reason',
      'errorCode',
      'job',
      'count',
      'port',
      'pid',
      'version',
      'status',
      'error',
      'stack',
      'sqlState',
    ])
    for (const line of logged())
      assert.deepEqual(
        Object.keys(line).filter((name) => !known.has(name)),
        [],
      )
  })
})

describe('the buffered log lines of a process', () => {
  const PATH = '/admin/v1/logs'

  interface BufferedLine {
    process: string
    sequence: number
    level: string
    key: string
    fields: Record<string, unknown>
  }

  it('shows buffered lines to operators only, and logs rejected readers', async () => {
    const tried = await anonymous.get(PATH, { authorization: 'Bearer a-guess' })
    assertErrorCode(tried, 401, 'invalid_admin_token')
    const id = tried.headers.get('x-request-id')
    const read = () => service.admin.get(`${PATH}?requestId=${id}&level=info`)
    const { body } = await eventually(read, (answer) => answer.body.data.lines.length > 0, 5_000)
    assert.equal(body.data.lines[0].fields.http, 401)
    assertErrorCode(await api.get(PATH), 401, 'invalid_admin_token')
  })

  it('continues after the last line read, and does not log the reading', async () => {
    const [known] = (await service.admin.get(PATH)).body.data.processes
    await anonymous.get('/nowhere', { 'x-request-id': 'remembered-request' })
    const after = `${known.process}:${known.next}`
    const readOn = () => service.admin.get(`${PATH}?after=${after}&limit=500`)
    const isOurs = ({ fields }: BufferedLine) => fields.requestId === 'remembered-request'
    const { data } = (await eventually(readOn, ({ body }) => body.data.lines.some(isOurs), 5_000)).body
    const lines: BufferedLine[] = data.lines
    for (const { process, sequence, fields } of lines) {
      assert.equal(process, known.process)
      assert.ok(sequence > known.next, `${sequence} was read before`)
      assert.notEqual(`${fields.route} ${fields.http}`, `${PATH} 200`)
    }
    const found = lines.filter(isOurs).map(({ level, key, fields }) => ({ level, key, fields }))
    assert.deepEqual(found, [
      {
        level: 'info',
        key: 'http.request',
        fields: {
          requestId: 'remembered-request',
          method: 'GET',
          route: 'unknown',
          http: 404,
          address: '127.0.0.1',
          durationMs: found[0]?.fields.durationMs,
          errorCode: 'route_not_found',
        },
      },
    ])
  })

  it('filters buffered lines by level, merchant and request id', async () => {
    const graver = (await service.admin.get(`${PATH}?level=warn&limit=500`)).body.data.lines
    assert.ok(graver.length > 0)
    for (const { level } of graver) assert.match(level, /^(?:warn|error)$/)
    const [mine] = (await service.admin.get(`${PATH}?requestId=request-of-the-log`)).body.data.lines
    const byMerchant = await service.admin.get(`${PATH}?merchant=${mine.fields.merchantId}`)
    assert.deepEqual(byMerchant.body.data.lines, [mine])
    for (const query of ['level=loud', 'limit=501', 'after=-1', `after=${'0'.repeat(36)}:-1`, 'merchant=me'])
      assert.equal((await service.admin.get(`${PATH}?${query}`)).http, 400, query)
  })
})
