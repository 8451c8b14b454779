// The faults that the service must survive, grouped by the component that fails. The tests whose titles contain a
// fault's id cover it; a fault without a test has a reason here, which docs/faults.md prints instead.

export interface Fault {
  id: string
  fault: string
  expected: string
  /** Why no test covers the fault. A test fails when both a reason and a covering test exist. */
  uncovered?: string
}

export interface FaultGroup {
  title: string
  faults: Fault[]
}

export const FAULT_GROUPS: readonly FaultGroup[] = [
  {
    title: 'A process dies',
    faults: [
      fault(
        'F-01',
        'before the intent is committed',
        'nothing is stored; a retry creates exactly one payment',
      ),
      fault(
        'F-02',
        'after the intent, before the call to the gateway',
        'another process calls the gateway once',
      ),
      fault(
        'F-03',
        'the request is sent, the response not read',
        'a status check uses the same key; one execution',
      ),
      fault('F-04', 'the response is read, the outcome not committed', 'as F-03, with the gateway’s outcome'),
      fault('F-05', 'the outcome is committed, the response not sent', 'a retry gets the same record'),
      fault('F-06', 'the response is cut off', 'a retry gets the same record, wherever it was cut'),
      fault(
        'F-07',
        'a worker dies with a lease, or stalls beyond it',
        'another worker takes over; the stalled one changes nothing',
      ),
      fault('F-08', 'a webhook is delivered, the delivery not recorded', 'it is sent again with the same id'),
      fault(
        'F-09',
        'a provider’s webhook is received, not yet committed',
        'the provider gets no 2xx and retries; applied once',
      ),
      fault('F-10', 'at any moment, repeatedly, under load', 'every invariant holds'),
      fault('F-11', 'again, while another process recovers', 'the operation still completes'),
      fault('F-12', 'an uncaught error', 'it is logged, requests are drained, the process exits with 1'),
      fault(
        'F-13',
        'a power failure with pages not yet on disk',
        'acknowledged records are there; production does not start without fsync',
      ),
    ],
  },
  {
    title: 'The database',
    faults: [
      fault(
        'F-14',
        'PostgreSQL restarts under load',
        'callers get 503 with Retry-After; nothing acknowledged is lost',
      ),
      fault(
        'F-15',
        'the connection is lost during a commit',
        'the outcome is unknown until it is read; nothing is executed twice',
      ),
      fault(
        'F-16',
        'the primary dies, a synchronous standby takes over',
        'nothing acknowledged is lost; writes continue',
      ),
      fault('F-17', 'the primary is disconnected', 'it acknowledges no more writes; as F-16'),
      fault(
        'F-18',
        'the standby is disconnected, then the primary dies',
        'writes wait; nothing acknowledged is lost',
      ),
      fault('F-19', 'the wait for the standby is cancelled', 'the outcome of the commit is unknown'),
      fault(
        'F-20',
        'a cluster manager fails over automatically',
        'as F-16, and never two primaries',
        'a cluster manager is not part of Cowry. Its effects on the service are F-16 to F-19, which `npm run chaos:failover` causes by hand.',
      ),
      fault(
        'F-21',
        'every connection of the pool is in use',
        '503 with Retry-After within seconds; health stays up',
      ),
      fault(
        'F-22',
        'a deadlock or a serialization failure',
        'the transaction is retried; the caller sees no error',
      ),
      fault('F-23', 'a row stays locked', '503 for that record only'),
      fault('F-24', 'the disk is full', 'writes are rejected, reads continue, nothing acknowledged is lost'),
      fault(
        'F-25',
        'the schema is migrated while the previous version serves',
        'not supported: stop all processes of the previous version first',
        'two versions with different migrations must not run side by side; CHANGELOG.md says whether a version has new migrations.',
      ),
      fault(
        'F-26',
        'a backup is restored',
        'the invariants hold, and status checks at the gateways restore newer outcomes',
        'docs/running-in-production.md has the drill. F-43 covers webhooks about payments that a restored database does not know; F-02 covers status checks of open payments.',
      ),
    ],
  },
  {
    title: 'The gateway',
    faults: [
      fault(
        'F-27',
        'nothing was sent: connection refused, unknown host, TLS failure',
        'provably not executed; failover to another gateway is allowed',
      ),
      fault(
        'F-28',
        'executed, but the response is lost',
        '`processing`, then the outcome is found; never failed, never charged again',
      ),
      fault('F-29', 'executed late, after a status check that did not find it', 'one execution'),
      fault(
        'F-30',
        'it has neither idempotency keys nor status checks',
        'nothing is sent again; manual review',
      ),
      fault('F-31', 'webhook, return, verify and resolver at once', 'one credit, one event'),
      fault('F-32', '5xx, HTML, broken JSON, endless bodies', 'the outcome is unknown; never a crash'),
      fault('F-33', 'slow', 'times out; other gateways are as fast as before'),
      fault('F-34', 'another amount, currency or reference than requested', 'no credit; manual review'),
      fault('F-35', 'paid after the payment failed or expired', 'late success or refund; never dropped'),
      fault('F-36', 'success, refund and dispute in any order', 'the ledger ends with the same sum'),
      fault('F-37', '429', 'retried after its Retry-After; nothing is dropped'),
      fault(
        'F-38',
        'down for an hour with thousands of unknown outcomes',
        'all are resolved soon after it is back, without a stampede',
      ),
      fault('F-39', 'its reads are stale', 'polled until it finds the payment'),
    ],
  },
  {
    title: 'Webhooks of gateways',
    faults: [
      fault('F-40', 'forged', '401; nothing changes; counted'),
      fault('F-41', 'sent again, seconds or months later', '200; nothing changes'),
      fault('F-42', 'many times at once', 'one effect'),
      fault('F-43', 'before we know the payment', 'kept until it is known'),
      fault('F-44', 'it says paid, a status check says otherwise', 'the status check counts'),
      fault('F-45', 'a flood of forged webhooks', 'rejected before the database; valid ones are processed'),
      fault('F-46', 'the time of a rejection depends on the signature', 'compared in constant time'),
    ],
  },
  {
    title: 'Callers',
    faults: [
      fault(
        'F-47',
        'the same request many times at once, over processes',
        'one execution; all get the same record or a retryable error',
      ),
      fault('F-48', 'the same key or reference with another body', '422; nothing is executed'),
      fault('F-49', 'the same reference at two merchants', 'two payments'),
      fault('F-50', 'a key used again after its purge', 'the reference still prevents a second charge'),
      fault(
        'F-51',
        'the client disconnects before the response',
        'the request completes; a retry gets its record',
      ),
      fault('F-52', 'a crash between claim and completion, then a retry', 'the retry takes over'),
    ],
  },
  {
    title: 'Time, background jobs, webhooks to merchants',
    faults: [
      fault('F-53', 'clocks are wrong or jump', 'leases and order do not depend on them'),
      fault('F-54', 'a job fails every time', 'dead-lettered; the others continue'),
      fault('F-55', 'a consumer is down for days', 'every event arrives afterwards, in order'),
      fault(
        'F-56',
        'a consumer is slow, sends an endless body, redirects, or returns 410 or 429',
        'limited in time and bytes; 410 and 429 are respected',
      ),
      fault(
        'F-57',
        'a secret changes while deliveries are pending',
        'both secrets verify during the overlap, the old one never after',
      ),
      fault('F-58', 'a million deliveries are due', 'claimed by index, in constant memory'),
    ],
  },
  {
    title: 'Input',
    faults: [
      fault('F-59', 'not JSON, another charset, compressed, broken framing', '400 or 415, never 500'),
      fault('F-60', 'too large', '413 without reading the whole body'),
      fault('F-61', 'nested too deeply', '400'),
      fault('F-62', 'a duplicate JSON key', '400'),
      fault('F-63', '`__proto__` and similar keys', 'plain data'),
      fault('F-64', 'NUL, lone surrogates, control characters', '400 with the field'),
      fault('F-65', 'invalid amounts', '400; never rounded'),
      fault('F-66', 'SQL and patterns in a search', 'plain text'),
      fault('F-67', 'HTML, scripts, formulas', 'shown as text; never executed'),
      fault('F-68', 'line breaks in values for a header', '400'),
      fault('F-69', 'malformed paths and ids', '400 or 404'),
      fault('F-70', 'invalid pages, limits and cursors', '400; a cursor cannot be forged'),
    ],
  },
  {
    title: 'Abuse',
    faults: [
      fault('F-71', 'a webhook URL inside the network', 'rejected when saved and when connecting'),
      fault(
        'F-72',
        'a host name that resolves inside only when connecting',
        'the connection uses the address that was checked',
      ),
      fault('F-73', 'a consumer redirects into the network', 'not followed'),
      fault('F-74', 'another merchant’s ids, keys, tokens, references, cursors', 'as if they did not exist'),
      fault('F-75', 'a key of another mode or scope', '401 or 403'),
      fault('F-76', 'fields that only the service may set', '400 `unknown_field`'),
      fault('F-77', 'guessing keys', 'rate limited by address; the owner is not locked out'),
      fault('F-78', 'the time of a rejection depends on the key', 'the same work for each'),
      fault('F-79', 'card numbers and secrets in responses, logs, the database', 'in none of them'),
      fault('F-80', 'an open redirect', 'only to URLs that the merchant set'),
      fault('F-81', 'framing, sniffing, caching, foreign scripts', 'forbidden by headers on every response'),
      fault(
        'F-82',
        'a foreign page acts with an operator’s session',
        'rejected',
        'there are no sessions: operators send a token in a header, which no foreign page can do, and payers’ pages use the secret code in their URL.',
      ),
      fault(
        'F-83',
        'stolen cards are tested',
        'detected and stopped',
        'our pages never take card numbers: payers enter cards at the provider, which counts and blocks. Attempts per checkout are limited.',
      ),
      fault('F-84', 'checkout codes are guessed or used again', '404; one completion'),
    ],
  },
  {
    title: 'Resources and life cycle',
    faults: [
      fault('F-85', 'thousands of slow connections', 'closed; others are as fast as before'),
      fault(
        'F-86',
        'the event loop is blocked',
        'no read blocks it for more than ten milliseconds; while it is late, requests of merchants get 503',
      ),
      fault(
        'F-87',
        'memory grows',
        'constant over hours',
        'it takes too long for a test: the bench makes 200,000 charges and prints the slope.',
      ),
      fault(
        'F-88',
        'no file descriptors are free',
        'new connections are closed, and accepted again when some are free',
      ),
      fault('F-89', 'the log is not read', 'the service continues; dropped lines are counted'),
      fault('F-90', 'SIGTERM under load', 'requests are drained; no connection is cut'),
      fault('F-91', 'started with missing or weak secrets', 'refuses to start and says what to do'),
      fault('F-92', 'a data key is missing, wrong or rotated', 'rejected; nothing is stored in plain text'),
    ],
  },
]

function fault(id: string, what: string, expected: string, uncovered?: string): Fault {
  return { id, fault: what, expected, ...(uncovered && { uncovered }) }
}
