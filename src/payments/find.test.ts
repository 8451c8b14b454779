import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { paid, paymentsRig } from '../../test/support/payments-rig.ts'
import { sql } from '../kit/db/db.ts'
import { requireWholePayment } from './find.ts'
import { serializeRead } from './views.ts'

const rig = await paymentsRig({ after })
const { clock, merchant } = rig
const app = { ...rig.app, db: rig.db.forMerchant(merchant.id) }

const read = (id: string) => requireWholePayment(app, merchant, { uuid: id })

async function newCharge() {
  rig.gateway.answers('chargeSaved', paid())
  const { id } = await rig.charge()
  // The first read of a connection asks for the columns.
  await read(id)
  return id
}

const changes = {
  'the payment': sql`update payments set description = 'Changed.' where merchant_id = $1 and id = $2`,
  'an attempt': sql`update attempts set receipt_number = 'R-1' where merchant_id = $1 and payment_id = $2`,
  'the saved method': sql`
update payment_methods m
set last_used_at = now()
from payments p
where p.merchant_id = $1 and p.id = $2 and m.merchant_id = p.merchant_id and m.id = p.payment_method_id`,
}

describe('a payment that is read again', () => {
  it('is the same, with the same record, while nothing has changed', async () => {
    const id = await newCharge()
    const first = await read(id)
    const record = serializeRead(app, first)
    const again = await read(id)
    assert.equal(again, first)
    assert.equal(serializeRead(app, again), record)
    const other = await read(await newCharge())
    assert.notEqual(serializeRead(app, other), record)
  })

  for (const [part, change] of Object.entries(changes))
    it(`is another one after a change of ${part}`, async () => {
      const id = await newCharge()
      const first = await read(id)
      const record = serializeRead(app, first)
      await rig.db.query(change, [merchant.id, id])
      const changed = await read(id)
      assert.notEqual(changed, first)
      assert.notDeepEqual(serializeRead(app, changed), record)
    })

  it('has another record from the moment at which its card expires, and at another address', async () => {
    const id = await newCharge()
    const expire = sql`
update payment_methods m
set expires_at = $3
from payments p
where p.merchant_id = $1 and p.id = $2 and m.merchant_id = p.merchant_id and m.id = p.payment_method_id`
    const expiresAt = new Date(clock.now().getTime() + 1_000)
    await rig.db.query(expire, [merchant.id, id, expiresAt])
    const whole = await read(id)
    assert.equal(serializeRead(app, whole).paymentMethod?.status, 'active')
    clock.advance(1_000)
    assert.equal(await read(id), whole)
    assert.equal(serializeRead(app, whole).paymentMethod?.status, 'expired')
    const checkout = await read((await rig.checkout()).id)
    const moved = { ...app, settings: { ...app.settings, publicUrl: () => 'https://moved.example' } }
    assert.match(serializeRead(app, checkout).checkoutUrl ?? '', /^http:\/\/cowry\.example\/pay\//)
    assert.match(serializeRead(moved, checkout).checkoutUrl ?? '', /^https:\/\/moved\.example\/pay\//)
  })
})
