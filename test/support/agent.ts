// A scripted agent: a client of the MCP endpoint.

import assert from 'node:assert/strict'
import type { Api, ApiResponse } from './api.ts'

export interface ToolResult {
  isError: boolean
  /** All text that the agent's model reads. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  data: any
}

export interface Agent {
  send(method: string, params?: object, headers?: Record<string, string>): Promise<ApiResponse>
  listTools(): Promise<string[]>
  callTool(name: string, given?: object, headers?: Record<string, string>): Promise<ToolResult>
  /** Both calls of a tool that writes; fails unless the first returns a confirmation. */
  prepare(name: string, given: object): Promise<{ tool: string; arguments: Record<string, unknown> }>
}

export function createAgent(api: Api): Agent {
  let id = 0
  const send: Agent['send'] = (method, params = {}, headers = {}) => {
    id += 1
    return api.post('/mcp', { jsonrpc: '2.0', id, method, params }, headers)
  }
  const callTool: Agent['callTool'] = async (name, given = {}, headers = {}) => {
    const answer = await send('tools/call', { name, arguments: given }, headers)
    assert.equal(answer.http, 200, answer.text)
    const { result } = answer.body
    assert.ok(result, answer.text)
    const [words, json] = result.content
    assert.deepEqual(JSON.parse(json.text), result.structuredContent)
    return {
      isError: result.isError === true,
      text: `${words.text}\n${json.text}`,
      data: result.structuredContent,
    }
  }
  return {
    send,
    callTool,
    async listTools() {
      const answer = await send('tools/list')
      return answer.body.result.tools.map(({ name }: { name: string }) => name)
    },
    async prepare(name, given) {
      const { data, text } = await callTool(name, given)
      assert.equal(data.state, 'confirmation_required', text)
      return data.confirmWith
    },
  }
}
