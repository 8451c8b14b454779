import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { createLog, type LogFields } from './log.ts'

function logged(fields: LogFields): Record<string, unknown> {
  const lines: string[] = []
  createLog('info', { write: (line: string) => void lines.push(line) }).write('http.request', fields)
  return JSON.parse(lines.join(''))
}

describe('a line of the log', () => {
  it('has the allowed fields, and no other', () => {
    // A boundary: the type forbids the field; the filter holds where the type was bypassed.
    const more = { requestId: 'order-1042', body: 'secret' } as Parameters<typeof logged>[0]
    const { requestId, body } = logged(more)
    assert.deepEqual([requestId, body], ['order-1042', undefined])
  })

  it('F-79: withholds what looks like a card number or a secret, in every field of outside text', () => {
    for (const text of [
      '4242424242424242',
      'id-4242-4242-4242-4242',
      'cowry_test_abcdefghijkl_secret',
      'rtk_4fV9aQ2kLm8ZxT1u',
      'whsec_MfKQ9r8GKYqrTwjU',
      'sk_live_0123456789',
      'invalid input syntax for type uuid: "4242424242424242"',
    ]) {
      const { requestId, error } = logged({ requestId: text, error: text })
      assert.deepEqual([requestId, error], ['withheld', 'withheld'], text)
    }
  })

  it('shows request ids unchanged', () => {
    const ours = Array.from({ length: 2_000 }, () => crypto.randomUUID())
    for (const id of ['trace-8f3a2b1c', 'order.1042', '1763200000000', ...ours])
      assert.equal(logged({ requestId: id }).requestId, id)
  })
})

describe('a log output that is not read (F-89)', () => {
  /** A child whose first output is a log of ours, and whose second reports its progress. */
  function startWriter(maxBufferedBytes: number) {
    const script = `
      import { openLogOutput } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
      const output = openLogOutput(1, ${maxBufferedBytes})
      output.onDropped((count) => output.write('lost ' + count + '\\n'))
      for (let round = 0; round < 100; round += 1) {
        for (let line = 0; line < 100; line += 1) output.write('x'.repeat(99) + '\\n')
        await new Promise((resolve) => setImmediate(resolve))
      }
      process.stderr.write('written\\n')
      process.stdin.once('data', async () => {
        process.stdin.destroy()
        if (!(await output.end(200))) process.kill(process.pid, 'SIGKILL')
      })`
    return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' })
  }

  it('does not block the process; dropped lines are counted and reported when the reader is back', async () => {
    const writer = startWriter(100_000)
    writer.stdout.pause()
    await once(writer.stderr, 'data')
    let output = ''
    const reported = Promise.withResolvers<void>()
    writer.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part
      if (output.includes('lost ')) reported.resolve()
    })
    writer.stdout.resume()
    await reported.promise
    writer.stdin.write('end\n')
    assert.deepEqual(await once(writer, 'close'), [0, null])
    const lost = Number(/lost (\d+)/.exec(output)?.[1])
    const written = output.split('\n').filter((line) => line.startsWith('x')).length
    assert.ok(lost > 1_000, `${lost} lines were lost`)
    assert.equal(written + lost, 10_000)
  })

  it('does not keep a process from exiting', async () => {
    // More than the pipe takes without a reader.
    const writer = startWriter(500_000)
    writer.stdout.pause()
    await once(writer.stderr, 'data')
    writer.stdin.write('end\n')
    assert.deepEqual(await once(writer, 'exit'), [null, 'SIGKILL'])
    writer.stdout.destroy()
  })
})
