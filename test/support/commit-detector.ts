// Parses the traffic of a PostgreSQL connection, just enough to detect the response to a commit. The program names each
// prepared statement by a hash, so its text is parsed once to learn whether it writes.

export interface CommitDetector {
  /** Reads bytes that go to the server. */
  observeRequest(chunk: Buffer): void
  /** Reads bytes that come back; returns whether they end a transaction that wrote. */
  observeResponse(chunk: Buffer): boolean
}

const PARSED = /(s_[0-9a-f]{20})\0([^\0]+)/g
const BOUND = /s_[0-9a-f]{20}/g
const WRITES = /\b(?:insert into|update|delete from)\b/
// The simple query message, with its type and length before it.
const COMMIT = 'Q\0\0\0\x0bcommit\0'
// ReadyForQuery outside a transaction: the previous statements were committed or rolled back.
const IDLE = 'Z\0\0\0\x05I'

// Each connection prepares a statement again under the same name, so the set is shared.
const writing = new Set<string>()

export function createCommitDetector(): CommitDetector {
  let isWriting = false
  let tail = ''
  return {
    observeRequest(chunk) {
      const text = chunk.toString('latin1')
      for (const [, name = '', statement = ''] of text.matchAll(PARSED))
        if (WRITES.test(statement)) writing.add(name)
      isWriting ||= text.includes(COMMIT) || [...text.matchAll(BOUND)].some(([name]) => writing.has(name))
    },
    observeResponse(chunk) {
      tail = (tail + chunk.toString('latin1')).slice(-IDLE.length)
      if (tail !== IDLE) return false
      const isCommitted = isWriting
      isWriting = false
      return isCommitted
    },
  }
}
