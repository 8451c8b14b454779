// Forwards the messages of an agent to the MCP endpoint of the service, each as a request of its own, and writes the
// responses. Each request gets a response, also when the service cannot be reached.

import { isRecord } from '../core/canonical.ts'
import { idOf, isWriteCall, REPEAT_WRITE, type RpcId, rpcError, transportHeaders } from '../mcp/message.ts'
import type { MerchantClient } from './merchant-client.ts'
import { isOutcomeUnknown } from './service-client.ts'
import { CommandError } from './terminal.ts'

export interface Forwarding {
  /** Forwards one line. It does not wait for the response. */
  take(line: string): void
  whenIdle(): Promise<void>
}

type Write = (message: object) => void

/** Longer than any tool takes: some make a dozen requests of the API. */
const TIMEOUT_MS = 60_000

export function createForwarding(
  merchant: Pick<MerchantClient, 'postText'>,
  reconnect: () => Promise<Pick<MerchantClient, 'postText'>>,
  write: Write,
): Forwarding {
  let client = merchant
  const inFlight = new Set<Promise<void>>()
  const waiting = new Set<RpcId>()

  const forward = async (line: string, message: unknown): Promise<void> => {
    const id = idOf(message)
    if (id !== undefined) waiting.add(id)
    const response = await send(line, message, id)
    // No response follows a cancellation. An error without an id has no request that waits for it.
    const isWanted = id === undefined || waiting.delete(id)
    if (response !== undefined && isWanted) write(response)
  }

  const send = async (line: string, message: unknown, id: RpcId | undefined): Promise<object | undefined> => {
    try {
      const { status, text } = await client.postText('/mcp', line, transportHeaders(message), TIMEOUT_MS)
      return readReply(status, text, message)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      // It may have been started again, at another port.
      client = await reconnect().catch(() => client)
      return id === undefined ? undefined : rpcError(id, 'internal_error', lostResponse(error, message))
    }
  }

  return {
    take(line) {
      if (line.trim() === '') return
      const message = parse(line)
      if (message === undefined) return write(rpcError(undefined, 'parse_error', 'The line is not JSON.'))
      const cancelledId = cancelledBy(message)
      if (cancelledId !== undefined) waiting.delete(cancelledId)
      const work = forward(line, message).finally(() => inFlight.delete(work))
      inFlight.add(work)
    },
    async whenIdle() {
      await Promise.all(inFlight)
    },
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function cancelledBy(message: unknown): RpcId | undefined {
  if (!isRecord(message) || message.method !== 'notifications/cancelled' || !isRecord(message.params))
    return undefined
  return idOf({ id: message.params.requestId })
}

const OFF =
  'This service has no MCP endpoint: its operator turns it on with COWRY_MCP=read, or write for the tools that change something.'

/** The endpoint replies with JSON-RPC; a refusal before it, such as a wrong key, is the error of the API. */
function readReply(status: number, text: string, request: unknown): object | undefined {
  const id = idOf(request)
  const body = parse(text)
  if (isRecord(body) && body.jsonrpc === '2.0') return body
  if (status < 300 || id === undefined) return undefined
  const message = isRecord(body) && typeof body.message === 'string' ? body.message : `HTTP ${status}`
  const advice = status >= 500 && isWriteCall(request) ? ` ${REPEAT_WRITE}` : ''
  return rpcError(id, 'internal_error', status === 404 ? OFF : `${message}${advice}`)
}

/** The request may have been executed if it was sent. */
function lostResponse(error: CommandError, request: unknown): string {
  if (!isOutcomeUnknown(error)) return error.message
  return isWriteCall(request)
    ? `The service did not respond. ${REPEAT_WRITE}`
    : 'The service did not respond. Nothing was changed: repeat the call.'
}
