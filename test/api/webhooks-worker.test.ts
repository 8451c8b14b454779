import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { startConsumer, verifies, webhooksRig } from '../support/webhooks-rig.ts'

const rig = await webhooksRig({ after })

describe('a delivery', () => {
  it('carries the stored event, signed so that the reference library accepts it', async () => {
    const consumer = await startConsumer({ after })
    const endpoint = await rig.addEndpoint(consumer.url)
    await rig.tell()
    await rig.deliverAll()
    assert.equal(consumer.received.length, 1)
    const [received] = consumer.received
    assert.ok(received && verifies(received, endpoint.secret))
    assert.deepEqual(
      (await rig.deliveriesOf(endpoint)).map(({ status }) => status),
      ['delivered'],
    )
  })
})
