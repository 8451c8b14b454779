// The area of operators at /ops: who may enter, and its screens.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newVisitor, PASSWORD, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let operator: Visitor & { email: string }
let owner: Visitor & { email: string }

before(async () => {
  merchant = await service.newMerchant()
  operator = await signInAsOperator(service)
  owner = await signInAs(service, merchant.uuid)
})

const locationOf = ({ http, headers }: Awaited<ReturnType<Visitor['get']>>) => [http, headers.get('location')]

describe('who may enter the area of operators', () => {
  it('lets an operator in with a password and out again', async () => {
    const visitor = newVisitor(service)
    assert.deepEqual(locationOf(await visitor.get('/ops')), [303, '/ops/sign-in'])
    const entered = await visitor.post('/ops/sign-in', { email: operator.email, password: PASSWORD })
    assert.deepEqual(locationOf(entered), [303, '/ops'])
    assert.equal((await visitor.get('/ops')).http, 200)
    const cookie = `cowry_ops_session=${visitor.cookies.get('cowry_ops_session')}`
    assert.deepEqual(locationOf(await visitor.submit('/ops', '/ops/sign-out')), [303, '/ops/sign-in'])
    assert.deepEqual(locationOf(await newVisitor(service).get('/ops', { cookie })), [303, '/ops/sign-in'])
  })

  it('refuses each account at the sign-in of the other area like an unknown one', async () => {
    for (const [path, email] of [
      ['/ops/sign-in', owner.email],
      ['/app/sign-in', operator.email],
    ] as const)
      assert.equal((await newVisitor(service).post(path, { email, password: PASSWORD })).http, 401, path)
  })

  it('takes no session of one area in the other', async () => {
    const ofOwner = owner.cookies.get('cowry_session')
    const ofOperator = operator.cookies.get('cowry_ops_session')
    assert.ok(ofOwner && ofOperator)
    const planted = newVisitor(service)
    const atOps = await planted.get('/ops', { cookie: `cowry_ops_session=${ofOwner}` })
    assert.deepEqual(locationOf(atOps), [303, '/ops/sign-in'])
    for (const path of ['/app', '/app/choose']) {
      const answer = await planted.get(path, { cookie: `cowry_session=${ofOperator}` })
      assert.deepEqual(locationOf(answer), [303, '/app/sign-in'], path)
    }
  })

  it('keeps the session of a member who accepts the invitation of an operator in the same browser', async () => {
    const member = await signInAs(service, merchant.uuid)
    await signInAsOperator(service, member)
    assert.equal((await member.get('/app')).http, 200)
    assert.equal((await member.get('/ops')).http, 200)
  })

  it('leads to no screen of the other area after the sign-in', async () => {
    for (const next of ['/app/payments', '/opsx', '//evil.example', 'https://evil.example/ops']) {
      const answer = await newVisitor(service).post('/ops/sign-in', {
        ...{ email: operator.email, password: PASSWORD, next },
      })
      assert.deepEqual(locationOf(answer), [303, '/ops'], next)
    }
  })
})
