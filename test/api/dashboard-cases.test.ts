// Cases in the dashboard: what operators and the people of a merchant see and do about one.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { assertApiError } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { caseCalls, dataOf, requireTwoPeople } from '../support/cases.ts'
import { hiddenFields, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { operatorCaseOf } = caseCalls(service)

let shop: Awaited<ReturnType<typeof service.newMerchant>>
let operator: Visitor & { email: string }

before(async () => {
  shop = await service.newMerchant()
  operator = await signInAsOperator(service)
})

/** A case of an unknown outcome, which operators decide. */
async function newCase(amount = 1250.5) {
  const payment = await payWith(shop.api, 'card_unknown_status', { amount })
  const { uuid } = await operatorCaseOf(payment.uuid)
  return { payment, uuid, page: `/ops/cases/${uuid}` }
}

describe('a status check by an operator', () => {
  const fields = { resolution: 'ask_again', note: 'Nothing heard since noon.' }

  it('is in the case with its time, the person and the answer, and in the audit log', async () => {
    const { uuid, page } = await newCase()
    const asked = await operator.submit(page, `${page}/resolve`, fields)
    assert.equal(asked.http, 303, asked.text)
    const { text } = await operator.get(asked.headers.get('location') ?? '')
    assert.match(text, /The gateway was asked, and the case stays open/)
    assert.match(text, /Gateway asked last<\/dt><dd><time .*An operator.*does not know\..*<dt>Created/s)
    assert.match(text, /The gateway was asked again/)
    const { data } = (await service.admin.get(`/admin/v1/cases/${uuid}/timeline`)).body
    const entry = data.find(({ type }: { type: string }) => type === 'case_asked')
    assert.deepEqual([entry.status, entry.source, entry.uuid], ['unrecognized', 'operator:An operator', uuid])
    const [audited] = (await service.admin.get(`/admin/v1/audit?object=${uuid}&limit=1`)).body.data
    assert.equal(audited.operation, 'POST /admin/v1/cases/{uuid}/resolve')
    assert.equal(audited.changes[0].after.answer, 'unrecognized')
  })

  it('is in the history of the merchant without the name and the note of the operator', async () => {
    const { payment, page } = await newCase()
    await operator.submit(page, `${page}/resolve`, fields)
    const owner = await signInAs(service, shop.uuid)
    const { text } = await owner.get(`/app/payments/${payment.uuid}`)
    assert.match(text, /The gateway was asked again/)
    assert.doesNotMatch(text, /An operator|Nothing heard/)
  })
})

describe('the pages of cases for operators', () => {
  it('shows the merchant in the list, and the customer and the timeline of the payment on one case', async () => {
    const { payment, page } = await newCase()
    const { name } = (await service.admin.get(`/admin/v1/merchants/${shop.uuid}`)).body.data
    const list = await operator.get('/ops/cases')
    assert.ok(list.text.includes(`href="/ops/merchants/${shop.uuid}"><bdi>${name}`), list.text)
    const { text } = await operator.get(page)
    assert.ok(text.includes(payment.customer.email))
    assert.match(text, /An attempt started at sandbox/)
  })
})

describe('a proposal at /ops', () => {
  const FIELDS = { resolution: 'mark_failed', note: 'Not in its records.' }
  let other: Visitor

  before(async () => {
    await requireTwoPeople(service.admin, shop.uuid, 5000)
    other = await signInAsOperator(service)
  })

  async function propose() {
    const { uuid, page, payment } = await newCase(5000)
    assert.equal((await operator.submit(page, `${page}/resolve`, FIELDS)).http, 303)
    const recordOf = async () => (await service.admin.get(`/admin/v1/cases/${uuid}`)).body.data
    return { page, payment, recordOf }
  }

  it('has a button for each: another person approves or rejects, and who proposed withdraws', async () => {
    const { page } = await propose()
    const own = await operator.get(page)
    assert.match(own.text, /Withdraw the proposal/)
    assert.doesNotMatch(own.text, /Approve and carry out/)
    const seen = await other.get(page)
    assert.match(seen.text, /Approve and carry out/)
    assert.match(seen.text, /Reject the proposal/)
    assert.doesNotMatch(seen.text, /Withdraw the proposal/)
  })

  it('is carried out when another person approves it, also if the form is sent twice', async () => {
    const { page, recordOf } = await propose()
    const fields = hiddenFields((await other.get(page)).text, `${page}/approve`)
    const approve = () => other.post(`${page}/approve`, { ...fields, approval: 'I looked too.' })
    const approved = await approve()
    assert.equal(approved.headers.get('location'), `${page}?done=resolve`, approved.text)
    const { state, paymentStatus, note } = await recordOf()
    assert.deepEqual([state, paymentStatus], ['resolved', 'failed'])
    assert.match(note, /Approved by operator:An operator: I looked too\.$/)
    const again = await approve()
    assert.equal(again.headers.get('location'), `${page}?done=resolve`, again.text)
    assert.equal((await recordOf()).note, note, 'nothing was decided again')
  })

  it('is not approved by an account that was made after it', async () => {
    const { page, recordOf } = await propose()
    const later = await signInAsOperator(service)
    const refused = await later.submit(page, `${page}/approve`, { approval: 'I looked too.' })
    assert.match(refused.text, /You have joined after this was proposed/)
    const same = await later.submit(page, `${page}/resolve`, FIELDS)
    assert.match(same.text, /You have joined after this was proposed/)
    assert.equal((await recordOf()).state, 'awaiting_approval')
    assert.equal((await other.submit(page, `${page}/approve`, { approval: 'Yes.' })).http, 303)
    assert.equal((await recordOf()).state, 'resolved')
  })

  it('stays when another person asks the gateway, and the notice is about the status check', async () => {
    const { page, recordOf } = await propose()
    const asked = await other.submit(page, `${page}/resolve`, { resolution: 'ask_again', note: 'Once more.' })
    assert.equal(asked.http, 303, asked.text)
    const { text } = await other.get(asked.headers.get('location') ?? '')
    assert.match(text, /The gateway was asked, and the case stays open/)
    assert.doesNotMatch(text, /The decision was proposed/)
    assert.equal((await recordOf()).state, 'awaiting_approval')
  })

  it('ends with the reason of the person who rejects it, or when it is withdrawn', async () => {
    const rejected = await propose()
    const reason = { reason: 'It is in the export of Friday.' }
    const answer = await other.submit(rejected.page, `${rejected.page}/reject`, reason)
    assert.equal(answer.headers.get('location'), `${rejected.page}?done=reject`, answer.text)
    const { text } = await operator.get(rejected.page)
    assert.match(text, /The proposal was rejected: It was not paid.*in the export of Friday/s)
    assert.equal((await rejected.recordOf()).state, 'open')
    const withdrawn = await propose()
    assert.equal((await operator.submit(withdrawn.page, `${withdrawn.page}/reject`)).http, 303)
    assert.match((await other.get(withdrawn.page)).text, /The proposal was withdrawn/)
    assert.equal((await withdrawn.recordOf()).paymentStatus, 'processing')
  })

  it('is not approved by a form of an earlier proposal', async () => {
    const { page, recordOf } = await propose()
    const fields = hiddenFields((await other.get(page)).text, `${page}/approve`)
    const changed = { resolution: 'mark_paid', note: 'Found it.', proof: `late-${page}` }
    assert.equal((await operator.submit(page, `${page}/resolve`, changed)).http, 303)
    const refused = await other.post(`${page}/approve`, fields)
    assert.equal(refused.http, 409)
    assert.match(refused.text, /has changed since you opened this page.*proposed: It was paid\./s)
    assert.equal((await recordOf()).state, 'awaiting_approval')
    assert.equal((await operator.submit(page, `${page}/reject`)).http, 303)
    assert.match((await other.post(`${page}/approve`, fields)).text, /was rejected or withdrawn/)
    assert.equal((await recordOf()).state, 'open')
  })
})

const giveTo = sql<unknown>`
update api_keys
set descends_from = array ['user:' || (select id from users where email = $2)]
where key_id = $1`

describe('a proposal at /app', () => {
  it('is not approved by a person who has joined after it, nor by a key of that person', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    const payment = await payWith(api, 'transfer_underpaid', { amount: 2000 })
    const [{ uuid }] = (await api.get(`/api/v1/cases?payment=${payment.uuid}`)).body.data
    await requireTwoPeople(service.admin, merchant)
    const [owner, finance] = [await signInAs(service, merchant), await signInAs(service, merchant, 'finance')]
    const page = `/app/cases/${uuid}`
    const proposal = { resolution: 'accept', note: 'Near enough.' }
    assert.equal((await owner.submit(page, `${page}/resolve`, proposal)).http, 303)
    const later = await signInAs(service, merchant)
    const refused = await later.submit(page, `${page}/approve`, { approval: 'Fine.' })
    assert.match(refused.text, /You have joined after this was proposed/)
    const { apiKey, keyId } = dataOf(
      await service.admin.post(`/admin/v1/merchants/${merchant}/keys`, { name: 'Later', scopes: ['*'] }),
    )
    await service.db.query(giveTo, [keyId, later.email])
    const resolve = () => service.apiWith(apiKey).post(`/api/v1/cases/${uuid}/resolve`, proposal)
    assertApiError(await resolve(), 'approver_not_independent')
    await service.db.query(giveTo, [keyId, finance.email])
    assert.equal(dataOf(await resolve()).state, 'resolved')
  })
})

describe('a decision by a form of an older state', () => {
  it('is refused with what has changed, and shows the present state', async () => {
    const { uuid, page } = await newCase()
    const fields = hiddenFields((await operator.get(page)).text, `${page}/resolve`)
    const decided = { resolution: 'mark_paid', note: 'Seen.', proof: `proof-${uuid}` }
    assert.equal((await service.admin.post(`/admin/v1/cases/${uuid}/resolve`, decided)).http, 200)
    const stale = { ...fields, resolution: 'mark_failed', note: 'Not there.' }
    const refused = await operator.post(`${page}/resolve`, stale)
    assert.equal(refused.http, 409)
    assert.match(refused.text, /has changed since you opened this page.*It was decided: It was paid\./s)
    const same = await operator.post(`${page}/resolve`, { ...fields, ...decided })
    assert.equal(same.http, 303, 'the same decision is a repetition')
  })

  it('is refused when another person of the merchant has proposed meanwhile', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    const payment = await payWith(api, 'transfer_underpaid', { amount: 2000 })
    const [{ uuid }] = (await api.get(`/api/v1/cases?payment=${payment.uuid}`)).body.data
    await requireTwoPeople(service.admin, merchant)
    const [owner, finance] = [await signInAs(service, merchant), await signInAs(service, merchant, 'finance')]
    const page = `/app/cases/${uuid}`
    const fields = hiddenFields((await owner.get(page)).text, `${page}/resolve`)
    const proposal = { resolution: 'accept', note: 'Near enough.' }
    assert.equal((await finance.submit(page, `${page}/resolve`, proposal)).http, 303)
    const refused = await owner.post(`${page}/resolve`, {
      ...fields,
      resolution: 'return',
      note: 'Too little.',
    })
    assert.equal(refused.http, 409)
    assert.match(refused.text, /A decision was proposed: Accept the money\./)
    assert.match(refused.text, /A finance/)
    const approval = { approval: 'I agree.' }
    assert.equal((await owner.submit(page, `${page}/approve`, approval)).http, 303)
    assert.equal((await api.get(`/api/v1/cases/${uuid}`)).body.data.state, 'resolved')
    const shown = (await owner.get(page)).text.replaceAll(/<(?!br)[^>]+>/g, '')
    assert.match(shown, /Near enough\.<br>Approved by A owner: I agree\./)
    assert.doesNotMatch(shown, /user:/)
    owner.cookies.set('cowry_app_language', 'fr')
    assert.match((await owner.get(page)).text, /Approuvé par <bdi>A owner/)
  })
})

describe('what merchants see of an operator', () => {
  it('is that an operator decided: no name and no note, in any place', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    const other = await signInAsOperator(service)
    await requireTwoPeople(service.admin, merchant)
    const { uuid: payment } = await payWith(api, 'transfer_underpaid')
    const [{ uuid }] = (await api.get(`/api/v1/cases?payment=${payment}`)).body.data
    const page = `/ops/cases/${uuid}`
    const proposal = { resolution: 'accept', note: 'Kamau has called.' }
    assert.equal((await operator.submit(page, `${page}/resolve`, proposal)).http, 303)
    const owner = await signInAs(service, merchant)
    const readAll = async () => {
      const addresses = [`/api/v1/cases/${uuid}`, '/api/v1/cases?state=all', '/api/v1/cases/export?state=all']
      const more = [`/api/v1/payments/${payment}/timeline`, '/api/v1/audit', '/api/v1/events?limit=100']
      const pages = [`/app/cases/${uuid}`, `/app/payments/${payment}`, '/app/cases', '/app/audit']
      const answers = [
        ...(await Promise.all([...addresses, ...more].map((path) => api.get(path)))),
        ...(await Promise.all(pages.map((path) => owner.get(path)))),
        await api.post(`/api/v1/cases/${uuid}/resolve`, { resolution: 'return', note: 'No.' }),
      ]
      for (const { text } of answers) assert.doesNotMatch(text, /An operator|Kamau/)
    }
    await readAll()
    const { by, note } = (await api.get(`/api/v1/cases/${uuid}`)).body.data.proposal
    assert.deepEqual([by, note], ['operator', ''])
    const audit = (await owner.get('/app/audit?objectType=case')).text
    assert.match(audit, /data-label="Who">\s*Operator</)
    assert.doesNotMatch(audit, /former member/)
    const { text } = await owner.get(`/app/cases/${uuid}`)
    assert.match(text, /<label for="approval">Note<\/label>\s*<input [^>]*required/)
    assert.equal((await other.submit(page, `${page}/approve`)).http, 303)
    await readAll()
    const record = (await api.get(`/api/v1/cases/${uuid}`)).body.data
    assert.deepEqual([record.resolvedBy, record.note], ['operator, operator', null])
    const forOperators = (await service.admin.get(`/admin/v1/cases/${uuid}`)).body.data
    assert.deepEqual(
      [forOperators.resolvedBy, forOperators.note],
      ['operator:An operator, operator:An operator', 'Kamau has called.'],
    )
  })
})
