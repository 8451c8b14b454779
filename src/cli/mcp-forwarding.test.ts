import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createForwarding } from './mcp-forwarding.ts'
import { CommandError } from './terminal.ts'

const callOf = (id: number, given: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'refund_payment', arguments: given },
})
const WRITE = callOf(1, { payment: 'p', confirmationToken: 't' })
const READ = callOf(1, { payment: 'p' })

type Post = () => Promise<{ status: number; text: string }>

/** The messages that the agent gets for these lines, with a service that responds like this. */
async function answersTo(post: Post, ...messages: object[]) {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  const written: any[] = []
  const client = { postText: post }
  const forwarding = createForwarding(
    client,
    async () => client,
    (message) => void written.push(message),
  )
  for (const message of messages) {
    forwarding.take(JSON.stringify(message))
    await forwarding.whenIdle()
  }
  return written
}

const failWith = (code: string) => async () => {
  throw new CommandError(code, 'No response.')
}

describe('the forwarding of an agent’s call without a clear response', () => {
  it('reports a write as unknown, to be repeated with the same token', async () => {
    const lost = await answersTo(failWith('outcome_unknown'), WRITE)
    const gatewayTimeout = await answersTo(async () => ({ status: 504, text: '<html>' }), WRITE)
    for (const [{ error }] of [lost, gatewayTimeout]) {
      assert.match(error.message, /not known whether the change was made/)
      assert.match(error.message, /same call with the same confirmationToken/)
    }
  })

  it('reports a read, and a call that was not sent, as one that changed nothing', async () => {
    const [read] = await answersTo(failWith('outcome_unknown'), READ)
    assert.match(read.error.message, /Nothing was changed/)
    const [unsent] = await answersTo(failWith('service_unreachable'), WRITE)
    assert.equal(unsent.error.message, 'No response.')
  })
})

describe('a cancellation by an agent', () => {
  const post = async () => ({ status: 200, text: '{"jsonrpc":"2.0","id":1,"result":{}}' })
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }

  it('does not affect a later request with the id of an answered one', async () => {
    const sent = await answersTo(post, READ, cancel, READ)
    // The service here answers the notification as well, which has no id to wait for.
    assert.equal(sent.length, 3)
  })
})
