// The faults that the service must survive, in the order of where they strike. A fault is covered by the tests that name
// its id; where none does, the reason stands here and is printed instead.

export interface Fault {
  id: string
  fault: string
  expected: string
  /** Why no test names it. It must go when one does. */
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
      fault('F-01', 'before the intent is on disk', 'nothing is stored; a retry makes exactly one'),
      fault('F-02', 'after the intent, before the gateway is called', 'another process calls, once'),
      fault(
        'F-03',
        'the request is sent, the answer not read',
        'the gateway is asked with the same key; one execution',
      ),
      fault('F-04', 'the answer is read, the outcome not on disk', 'as F-03, and the gateway’s word stands'),
      fault('F-05', 'the outcome is on disk, the caller not answered', 'a retry gets the same record'),
      fault('F-06', 'the answer is cut off half-way', 'a retry gets the same record, wherever it was cut'),
      fault(
        'F-07',
        'a worker has claimed work, or stands still and wakes up late',
        'another takes over; the late one changes nothing',
      ),
      fault('F-08', 'a webhook is delivered, the delivery not noted', 'it comes again with the same id'),
      fault(
        'F-09',
        'a provider’s webhook is taken, not yet on disk',
        'the provider sees no 2xx and sends again; applied once',
      ),
      fault('F-10', 'at any moment, again and again, under load', 'every invariant holds'),
      fault('F-11', 'again, while another process picks up the pieces', 'it still comes to an end'),
      fault('F-12', 'an error that nobody caught', 'it is logged, work is drained, the process ends with 1'),
      fault(
        'F-13',
        'the power goes, with pages not yet on disk',
        'what was acknowledged is there; production does not start without fsync',
      ),
    ],
  },
  {
    title: 'The database',
    faults: [
      fault(
        'F-14',
        'PostgreSQL restarts under load',
        'callers are told to come back; nothing acknowledged is lost',
      ),
      fault(
        'F-15',
        'the connection is lost during a commit',
        'the outcome is unknown until it was read; nothing is done twice',
      ),
      fault(
        'F-16',
        'the primary dies, a synchronous standby takes over',
        'nothing acknowledged is lost; writes go on',
      ),
      fault('F-17', 'the primary is cut off', 'it acknowledges nothing any more; as F-16'),
      fault(
        'F-18',
        'the standby is cut off, then the primary dies',
        'writes wait; nothing acknowledged is lost',
      ),
      fault('F-19', 'waiting for the standby is cancelled', 'the commit counts as unknown'),
      fault(
        'F-20',
        'a cluster manager fails over by itself',
        'as F-16, and never two primaries',
        'such a manager is not part of Cowry. What it does to the service is F-16 to F-19, which `npm run chaos:failover` does by hand.',
      ),
      fault(
        'F-21',
        'every connection of the pool is busy',
        '503 with Retry-After within seconds; health stays up',
      ),
      fault(
        'F-22',
        'a deadlock or a serialization failure',
        'the transaction runs again; the caller never learns of it',
      ),
      fault('F-23', 'a row is locked for long', '503 for that record alone'),
      fault('F-24', 'the disk is full', 'writes are refused, reads go on, nothing acknowledged is lost'),
      fault(
        'F-25',
        'the schema is migrated while the version before serves',
        'both versions work',
        'the migrations so far are not made for two versions side by side; the changelog says to stop the older one first.',
      ),
      fault(
        'F-26',
        'a backup is restored',
        'the invariants hold, and newer truth is learnt from the gateways',
        'the drill is in docs/running-in-production.md. That webhooks about payments which a restored database does not know are kept is F-43; that what was open is asked about again is F-02.',
      ),
    ],
  },
  {
    title: 'The gateway',
    faults: [
      fault(
        'F-27',
        'nothing was sent: refused, no such name, no TLS',
        'certainly not executed; another gateway may be tried',
      ),
      fault(
        'F-28',
        'executed, but the answer is lost',
        '`processing`, then settled; never failed, never charged again',
      ),
      fault('F-29', 'executed late, after we asked and it knew nothing', 'one execution'),
      fault('F-30', 'it knows neither keys nor questions', 'nothing is sent again; an operator decides'),
      fault('F-31', 'webhook, return, verify and resolver at once', 'one credit, one event'),
      fault('F-32', '5xx, HTML, broken JSON, endless bodies', 'unknown, never a crash'),
      fault('F-33', 'slow', 'given up in time; other gateways are as fast as before'),
      fault('F-34', 'another amount, currency or reference than asked for', 'no credit; an operator looks'),
      fault('F-35', 'paid after we took it for failed or expired', 'late success or refund; never dropped'),
      fault('F-36', 'success, refund and dispute in any order', 'the ledger comes to the same sum'),
      fault('F-37', '429', 'asked again after the time it named; nothing is dropped'),
      fault(
        'F-38',
        'down for an hour with thousands unknown',
        'all settled soon after it is back, without a stampede',
      ),
      fault('F-39', 'its own reads are stale', 'asked until it knows'),
    ],
  },
  {
    title: 'Webhooks of gateways',
    faults: [
      fault('F-40', 'forged', '401; nothing changes; counted'),
      fault('F-41', 'sent again, seconds or months later', '200; nothing changes'),
      fault('F-42', 'many times at once', 'one effect'),
      fault('F-43', 'before we know the payment', 'kept until it is known'),
      fault('F-44', 'it says paid, the gateway says otherwise when asked', 'the answer counts'),
      fault('F-45', 'a flood of forged ones', 'refused before the database; true ones come through'),
      fault('F-46', 'the time of a refusal tells about the signature', 'compared in constant time'),
    ],
  },
  {
    title: 'Callers',
    faults: [
      fault(
        'F-47',
        'the same request many times at once, over processes',
        'one execution; all get the same record or are told to wait',
      ),
      fault('F-48', 'the same key or reference with another body', '422; nothing is executed'),
      fault('F-49', 'the same reference at two merchants', 'two payments'),
      fault('F-50', 'a key used again after it was forgotten', 'the reference still stops a second charge'),
      fault('F-51', 'the caller leaves before the answer', 'the work is done; a retry gets it'),
      fault('F-52', 'a crash between claim and end, then a retry', 'the retry takes over'),
    ],
  },
  {
    title: 'Time, background work, webhooks to merchants',
    faults: [
      fault('F-53', 'clocks that are wrong or jump', 'leases and order do not depend on them'),
      fault('F-54', 'work that fails every time', 'put aside; the rest goes on'),
      fault('F-55', 'a consumer is away for days', 'everything arrives afterwards, in order'),
      fault(
        'F-56',
        'a consumer that is slow, endless, redirects, or says 410 or 429',
        'bounded in time and bytes; what it says is heeded',
      ),
      fault(
        'F-57',
        'a secret changes while events are on their way',
        'both verify during the overlap, the old one never after',
      ),
      fault('F-58', 'a million deliveries wait', 'claimed by index, in flat memory'),
    ],
  },
  {
    title: 'Input',
    faults: [
      fault('F-59', 'no JSON, another charset, compressed, broken framing', '400 or 415, never 500'),
      fault('F-60', 'too long', '413 without reading all of it'),
      fault('F-61', 'too deep', '400'),
      fault('F-62', 'a key twice', '400'),
      fault('F-63', '`__proto__` and its like', 'plain data'),
      fault('F-64', 'NUL, lone surrogates, control characters', '400 with the field'),
      fault('F-65', 'amounts that are no amounts', '400; never rounded'),
      fault('F-66', 'SQL and patterns in a search', 'plain text'),
      fault('F-67', 'HTML, scripts, formulas', 'shown as text; run nowhere'),
      fault('F-68', 'line breaks on their way into a header', '400'),
      fault('F-69', 'odd paths and ids', '400 or 404'),
      fault('F-70', 'odd pages, limits and cursors', '400; a cursor cannot be made up'),
    ],
  },
  {
    title: 'Abuse',
    faults: [
      fault('F-71', 'a webhook address inside the network', 'refused when saved and when connected'),
      fault(
        'F-72',
        'a name that points inside only when connected',
        'the address that was checked is the one that is used',
      ),
      fault('F-73', 'a consumer redirects inside', 'not followed'),
      fault('F-74', 'another merchant’s ids, keys, tokens, references, cursors', 'as if they did not exist'),
      fault('F-75', 'a key of another mode or scope', '401 or 403'),
      fault('F-76', 'fields that only we may set', 'ignored'),
      fault('F-77', 'guessing keys', 'slowed down by address; nobody is locked out'),
      fault('F-78', 'the time of a refusal tells about keys', 'the same work for each'),
      fault('F-79', 'card numbers and secrets in answers, logs, the database', 'in none'),
      fault('F-80', 'a redirect to anywhere', 'only to where the merchant said'),
      fault('F-81', 'framing, sniffing, caching, foreign scripts', 'forbidden by headers on every answer'),
      fault(
        'F-82',
        'a foreign page acts with an operator’s session',
        'refused',
        'there are no sessions: operators use a token in a header, which no page can send, and the pages of payers act by the secret code in their address.',
      ),
      fault(
        'F-83',
        'stolen cards are tried out',
        'noticed and stopped',
        'no card number is ever typed on a page of ours: cards are entered at the provider, who counts and blocks. Attempts per checkout are bounded.',
      ),
      fault('F-84', 'checkout codes are guessed or used again', '404; one completion'),
    ],
  },
  {
    title: 'Resources and life cycle',
    faults: [
      fault('F-85', 'thousands of slow connections', 'cut; others are as fast as before'),
      fault(
        'F-86',
        'the event loop is blocked',
        'no request of ours blocks it; under pressure callers are told to come back',
        'the loop itself is not watched by a gate. Callers are told to come back when the database has no connection for them in time (F-21), and `npm run fuzz` fails when any answer takes longer than a second.',
      ),
      fault(
        'F-87',
        'memory grows',
        'flat over hours',
        'it takes longer than a test may: the bench charges 200,000 times and prints the slope.',
      ),
      fault(
        'F-88',
        'no file descriptors are left',
        'callers are refused, and served again when there are some',
      ),
      fault('F-89', 'nobody takes the log', 'the service goes on; lost lines are counted'),
      fault('F-90', 'asked to end under load', 'drained; nobody is cut off'),
      fault('F-91', 'started with missing or weak secrets', 'refused with what to do'),
      fault('F-92', 'a data key is missing, wrong or rotated', 'refused; nothing in plain text'),
    ],
  },
]

function fault(id: string, what: string, expected: string, uncovered?: string): Fault {
  return { id, fault: what, expected, ...(uncovered && { uncovered }) }
}
