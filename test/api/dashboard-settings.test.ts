// The settings of a merchant in the dashboard: look and preview, routing, approvals, gateway accounts, and forms with files.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from '../gateways/paystack/fake.ts'
import { untilBlocked } from '../support/blocked-sessions.ts'
import { hiddenFields, newVisitor, signInAs, type Visitor } from '../support/dashboard.ts'
import { fileContext } from '../support/gateways.ts'
import { testService } from '../support/service.ts'

const paystack = await startFakePaystack(fileContext({ after }))
const service = await testService({ after }, { env: { GATEWAY_PAYSTACK_BASE_URL: paystack.server.url } })

const PATH = '/app/settings'
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const LOOK = { displayName: 'Kahawa', accentColor: '#7a2048', supportPhone: '+254700123456' }

const changeLimits = sql<unknown>`
update merchants
set settings = settings || '{"caseApprovals": [{"currency": "KES", "from": 6}]}'
where id = $1`

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
const settingsOf = async (uuid = merchant.uuid) =>
  (await service.admin.get(`/admin/v1/merchants/${uuid}`)).body.data.settings

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
})

describe('name and look', () => {
  it('shows a preview without saving, then saves with the logo of the preview', async () => {
    const files = { logoFile: { name: 'logo.png', content: PNG } }
    const preview = await owner.upload(PATH, PATH, { ...LOOK, action: 'preview' }, files)
    assert.equal(preview.http, 200, preview.text)
    assert.match(preview.text, /--preview-accent: #7a2048/)
    const [, nonce = ''] = /<style nonce="([^"]+)">/.exec(preview.text) ?? []
    assert.ok(preview.headers.get('content-security-policy')?.includes(`'nonce-${nonce}'`))
    assert.equal((await settingsOf()).branding.displayName, null)
    const [, logo = ''] = /name="logo" value="([^"]+)"/.exec(preview.text) ?? []
    const saved = await owner.upload(PATH, PATH, { ...LOOK, logo, timeZone: 'Africa/Nairobi' }, {})
    assert.equal(saved.headers.get('location'), `${PATH}?done=saved`, saved.text)
    const { branding, timeZone } = await settingsOf()
    assert.deepEqual(
      [branding.displayName, branding.accentColor, timeZone],
      ['Kahawa', '#7a2048', 'Africa/Nairobi'],
    )
    assert.equal(branding.logo, `data:image/png;base64,${PNG.toString('base64')}`)
  })

  it('keeps the logo when a later form has none, and removes it on demand', async () => {
    await owner.upload(PATH, PATH, LOOK, { logoFile: { name: 'logo.png', content: PNG } })
    await owner.upload(PATH, PATH, LOOK, {})
    assert.notEqual((await settingsOf()).branding.logo, null)
    await owner.upload(PATH, PATH, { ...LOOK, removeLogo: '1' }, {})
    assert.equal((await settingsOf()).branding.logo, null)
  })

  it('shows what is wrong, and keeps the input', async () => {
    const wrong = { ...LOOK, displayName: 'Other', timeZone: 'Mars/Base', supportPhone: '0700' }
    const refused = await owner.upload(PATH, PATH, wrong, {})
    assert.equal(refused.http, 422)
    assert.match(refused.text, /role="alert"/)
    assert.match(refused.text, /value="Mars\/Base"/)
    const logo = { name: 'logo.png', content: 'no picture' }
    assert.equal((await owner.upload(PATH, PATH, LOOK, { logoFile: logo })).http, 422)
    assert.notEqual((await settingsOf()).branding.displayName, 'Other')
  })

  it('escapes markup in the preview', async () => {
    const displayName = '<img src=x onerror=alert(1)>'
    const { text } = await owner.upload(PATH, PATH, { displayName, action: 'preview' }, {})
    assert.equal(text.includes('<img src=x'), false)
    assert.ok(text.includes('&lt;img src=x'))
  })
})

describe('a form with files', () => {
  const multipart = { 'content-type': 'multipart/form-data; boundary=x' }
  const send = (cookie: string, body: string) =>
    service
      .apiWith(undefined)
      .send('POST', PATH, { body, headers: { ...multipart, cookie, origin: service.url } })
  const cookie = () => [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  it('is read only for a session', async () => {
    const large = 'x'.repeat(100_000)
    assert.equal((await send('', large)).http, 303)
    assert.equal((await send(cookie(), large)).http, 413)
  })

  it('is refused if it is malformed or forged', async () => {
    assert.equal((await send(cookie(), '--x\r\nno header')).http, 400)
    const part = '--x\r\nContent-Disposition: form-data; name="displayName"\r\n\r\nEvil\r\n'
    assert.equal((await send(cookie(), `${part.repeat(300)}--x--\r\n`)).http, 400)
    assert.equal((await send(cookie(), `${part}--x--\r\n`)).http, 403)
    assert.notEqual((await settingsOf()).branding.displayName, 'Evil')
  })
})

describe('routing and approvals', () => {
  it('saves rules, and removes a rule whose fields are empty', async () => {
    const path = `${PATH}/routing`
    const rules = {
      currency0: 'KES',
      prefer0: 'paystack',
      currency1: '',
      split1: 'paystack:70 flutterwave:30',
      prefer1: '',
    }
    assert.equal((await owner.submit(path, path, rules)).http, 303)
    assert.deepEqual((await settingsOf()).routing, [
      { currency: 'KES', prefer: ['paystack'], exclude: [], split: [] },
      {
        currency: null,
        prefer: [],
        exclude: [],
        split: [
          { gateway: 'paystack', percent: 70 },
          { gateway: 'flutterwave', percent: 30 },
        ],
      },
    ])
    const unknown = await owner.submit(path, path, { prefer0: 'unknown', currency0: 'KES' })
    assert.deepEqual([unknown.http, unknown.text.includes('value="unknown"')], [422, true])
    assert.equal((await owner.submit(path, path, { prefer0: '' })).http, 303)
    assert.deepEqual((await settingsOf()).routing, [])
  })

  it('saves the amounts from which a second person must approve', async () => {
    const path = `${PATH}/approvals`
    const limits = {
      ...{ 'refundApprovals-currency-0': 'KES', 'refundApprovals-from-0': '10,000.50' },
      ...{ 'caseApprovals-currency-0': 'KES', 'caseApprovals-from-0': '20000' },
      ...{ 'caseApprovals-currency-1': 'USD', 'caseApprovals-from-1': '' },
    }
    assert.equal((await owner.submit(path, path, limits)).http, 303)
    const { refundApprovals, caseApprovals, refundConfirmations } = await settingsOf()
    assert.deepEqual(refundApprovals, [{ currency: 'KES', from: 10000.5 }])
    assert.deepEqual(caseApprovals, [{ currency: 'KES', from: 20000 }])
    assert.deepEqual(refundConfirmations, [])
    const twice = await owner.submit(path, path, {
      ...{ 'refundApprovals-currency-0': 'KES', 'refundApprovals-from-0': '500' },
      ...{ 'refundApprovals-currency-1': 'KES', 'refundApprovals-from-1': '900' },
    })
    assert.deepEqual([twice.http, /each has one limit/.test(twice.text)], [422, true])
    const wrong = await owner.submit(path, path, { ...limits, 'caseApprovals-from-0': 'many' })
    assert.deepEqual([wrong.http, wrong.text.includes('value="many"')], [422, true])
    const older = hiddenFields((await owner.get(path)).text, path)
    const added = { 'refundConfirmations-currency-0': 'KES', 'refundConfirmations-from-0': '7' }
    assert.equal((await owner.submit(path, path, { ...limits, ...added })).http, 303)
    const stale = await owner.post(path, { ...older, ...limits })
    assert.deepEqual([stale.http, /have changed since/.test(stale.text)], [422, true])
    assert.deepEqual((await settingsOf()).refundConfirmations, [{ currency: 'KES', from: 7 }])
  })

  it('refuses limits that another person saves in the same moment', async () => {
    const path = `${PATH}/approvals`
    const fields = { 'caseApprovals-currency-0': 'KES', 'caseApprovals-from-0': '5' }
    const page = hiddenFields((await owner.get(path)).text, path)
    const { saved } = await service.db.transaction(async (tx) => {
      await tx.query(changeLimits, [merchant.uuid])
      // It has read the limits as they were, and waits for the row.
      const sent = owner.post(path, { ...page, ...fields })
      await untilBlocked(tx)
      return { saved: sent }
    })
    const refused = await saved
    assert.equal(refused.http, 422, refused.text)
    assert.match(refused.text, /have changed since this page was opened/)
    assert.match(refused.text, /value="6"/)
    assert.deepEqual((await settingsOf()).caseApprovals, [{ currency: 'KES', from: 6 }])
    assert.equal((await owner.submit(path, path, fields)).http, 303)
  })
})

describe('gateway accounts', () => {
  const path = `${PATH}/gateways/paystack`

  it('saves credentials that the provider accepts, and never shows them', async () => {
    const wrong = `sk_test_${'f'.repeat(40)}`
    const refused = await owner.submit(path, path, { secretKey: wrong })
    assert.deepEqual([refused.http, refused.text.includes(wrong)], [422, false], refused.text)
    const saved = await owner.submit(path, path, { secretKey: FAKE_SECRET_KEY, currencies: 'KES' })
    assert.equal(saved.http, 303, saved.text)
    const { text } = await owner.get(path)
    assert.equal(text.includes(FAKE_SECRET_KEY), false)
    assert.ok(text.includes(FAKE_SECRET_KEY.slice(-4)))
    assert.match(text, /value="KES"/)
  })

  it('tests the connection', async () => {
    const works = await owner.submit(path, `${path}/test`)
    assert.match(works.text, /accepts the credentials/)
  })

  it('belongs to its merchant alone', async () => {
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    const { text } = await stranger.get(path)
    assert.equal(text.includes(FAKE_SECRET_KEY.slice(-4)), false)
    assert.equal(text.includes(`${path}/remove`), false)
  })

  it('removes the account, and records who changed it', async () => {
    const removed = await owner.submit(path, `${path}/remove`)
    assert.equal(removed.headers.get('location'), `${PATH}/gateways?removed=1`)
    assert.equal((await owner.get(path)).text.includes(`${path}/remove`), false)
    const { data } = (await service.admin.get(`/admin/v1/audit?merchant=${merchant.uuid}`)).body
    const steps = data.map(
      (one: { actor: { type: string }; operation: string }) => `${one.actor.type} ${one.operation}`,
    )
    assert.ok(steps.includes('user DELETE /app/settings/gateways/{gateway}'), steps.join('\n'))
    assert.ok(steps.includes('user PATCH /app/settings'), steps.join('\n'))
  })
})

describe('operations of people alone', () => {
  it('are in no document, and are not served with a key', async () => {
    const document = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
    assert.equal(document.includes('ownGateways'), false)
    const answer = await merchant.api.get(`${PATH}/gateways`)
    assert.equal(answer.http, 303)
    assert.equal((await newVisitor(service).get(PATH)).http, 303)
  })
})
