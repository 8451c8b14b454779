// JSON-RPC 2.0 messages as the Model Context Protocol (MCP) uses them, and the HTTP headers that repeat parts of a message.

import { isRecord } from '../core/canonical.ts'

/** The revision in which every request names its version in `_meta`, without a handshake. */
export const MODERN_VERSION = '2026-07-28'

/** The revisions that begin with `initialize`, newest first. */
export const HANDSHAKE_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...HANDSHAKE_VERSIONS]

export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
export const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo'

const RPC_ERRORS = {
  parse_error: -32_700,
  invalid_request: -32_600,
  method_not_found: -32_601,
  invalid_params: -32_602,
  internal_error: -32_603,
  header_mismatch: -32_020,
  unsupported_version: -32_022,
} as const

export type RpcErrorName = keyof typeof RPC_ERRORS
export type RpcId = string | number

export interface RpcRequest {
  id: RpcId
  method: string
  params: Readonly<Record<string, unknown>>
}

/** An id that a response may repeat. MCP forbids null. */
export function idOf(message: unknown): RpcId | undefined {
  const id = isRecord(message) ? message.id : undefined
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : undefined
}

export function rpcResult(id: RpcId, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

export function rpcError(id: RpcId | undefined, name: RpcErrorName, message: string, data?: object): object {
  const error = { code: RPC_ERRORS[name], message, ...(data && { data }) }
  // Earlier revisions and JSON-RPC itself want null if the id could not be read.
  return { jsonrpc: '2.0', id: id ?? null, error }
}

/** The version that a message names in `_meta`; undefined in the revisions with a handshake. */
export function versionOf(params: unknown): unknown {
  return isRecord(params) && isRecord(params._meta) ? params._meta[VERSION_KEY] : undefined
}

export const CONFIRMATION_ARGUMENT = 'confirmationToken'

/** Whether the message calls a tool to execute a write. */
export function isWriteCall(message: unknown): boolean {
  if (!isRecord(message) || message.method !== 'tools/call' || !isRecord(message.params)) return false
  const { arguments: given } = message.params
  return isRecord(given) && given[CONFIRMATION_ARGUMENT] !== undefined
}

/** The advice to an agent whose write has no clear response. */
export const REPEAT_WRITE = `It is not known whether the change was made. Repeat the same call with the same ${CONFIRMATION_ARGUMENT}: it does not act twice. Do not ask for a new token before you have the result.`

/** The headers of a message whose revision requires them: a proxy can route by them without reading the body. */
export function transportHeaders(message: unknown): Record<string, string> {
  if (!isRecord(message)) return {}
  const version = versionOf(message.params)
  if (typeof version !== 'string' || typeof message.method !== 'string') return {}
  const name = isRecord(message.params) ? message.params.name : undefined
  return {
    'mcp-protocol-version': encodeHeader(version),
    'mcp-method': encodeHeader(message.method),
    ...(typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
  }
}

const PLAIN_HEADER = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const ENCODED_HEADER = /^=\?base64\?(?<value>.*)\?=$/

function encodeHeader(text: string): string {
  const isPlain = PLAIN_HEADER.test(text) && !ENCODED_HEADER.test(text)
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

export function decodeHeader(text: string | undefined): string | undefined {
  const encoded = ENCODED_HEADER.exec(text ?? '')?.groups?.value
  return encoded === undefined ? text : Buffer.from(encoded, 'base64').toString('utf8')
}
