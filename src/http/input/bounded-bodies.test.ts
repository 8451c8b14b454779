import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createBoundedBodies } from './bounded-bodies.ts'

const LIMITS = { maxBodyBytes: 100, maxTotalBytes: 250 }

describe('bodies of unauthenticated requests', () => {
  it('reads a complete body, and holds nothing of it afterwards', async () => {
    const bodies = createBoundedBodies(LIMITS)
    const stream = new PassThrough()
    const read = bodies.read(stream, 0)
    stream.write('one ')
    await setImmediate()
    assert.equal(bodies.heldBytes(), 4)
    stream.end('two')
    assert.equal((await read).toString(), 'one two')
    assert.equal(bodies.heldBytes(), 0)
  })

  it('rejects a body above the limit, by its announced or its real length', async () => {
    const bodies = createBoundedBodies(LIMITS)
    await assert.rejects(bodies.read(new PassThrough(), 101), { code: 'payload_too_large' })
    const stream = new PassThrough()
    const read = bodies.read(stream, 0)
    stream.write(Buffer.alloc(101))
    await assert.rejects(read, { code: 'payload_too_large' })
    assert.equal(bodies.heldBytes(), 0)
  })

  it('drops the oldest unfinished bodies above the total limit, so that a new one can finish', async () => {
    const bodies = createBoundedBodies(LIMITS)
    const streams = Array.from({ length: 5 }, () => new PassThrough())
    const reads = streams.map((stream) => bodies.read(stream, 0).catch((error) => error.code))
    for (const stream of streams) {
      stream.write(Buffer.alloc(90))
      await setImmediate()
      assert.ok(bodies.heldBytes() <= LIMITS.maxTotalBytes)
    }
    for (const stream of streams) stream.end()
    const results = await Promise.all(reads)
    assert.deepEqual(
      results.map((result) => (Buffer.isBuffer(result) ? result.length : result)),
      ['temporarily_unavailable', 'temporarily_unavailable', 'temporarily_unavailable', 90, 90],
    )
    assert.equal(bodies.heldBytes(), 0)
  })

  it('releases the bytes of a sender that disconnects', async () => {
    const bodies = createBoundedBodies(LIMITS)
    const stream = new PassThrough()
    const read = bodies.read(stream, 0)
    stream.write(Buffer.alloc(50))
    await setImmediate()
    stream.destroy()
    await assert.rejects(read, { code: 'validation_failed' })
    assert.equal(bodies.heldBytes(), 0)
  })
})
