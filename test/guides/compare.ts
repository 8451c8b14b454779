// Compares what a sample printed with what its guide shows. In a guide, … stands for any text.

import assert from 'node:assert/strict'

export function isShown(printed: string, shown: string): boolean {
  // Lines of HTTP headers end with a carriage return too.
  return toPattern(shown.trim()).test(printed.replaceAll('\r\n', '\n').trim())
}

function toPattern(shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(escapePattern).join('[\\s\\S]*?')}$`)
}

function escapePattern(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}

/** The guide shows a part of the last response: each value that it shows must be in the response. */
export function assertResponse(printed: string, shown: string): void {
  const last = [...printed.matchAll(/\{"(?:status":"(?:success|error)","message|jsonrpc)":/g)].at(-1)
  assert.ok(last, `curl printed no response:\n${printed}`)
  assertContains(JSON.parse(printed.slice(last.index)), JSON.parse(shown), '')
}

function assertContains(value: unknown, shown: unknown, path: string): void {
  if (typeof shown === 'string' && typeof value === 'string') {
    assert.ok(
      isShown(value, shown),
      `${path} is ${JSON.stringify(value)}, and the guide shows ${JSON.stringify(shown)}`,
    )
  } else if (isRecord(shown) && isRecord(value)) {
    for (const [name, part] of Object.entries(shown)) assertContains(value[name], part, `${path}.${name}`)
  } else {
    assert.deepEqual(value, shown, path)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
