// The call without effect that checks credentials before they are stored.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Gateway } from '../../../src/gateways/gateway.ts'
import type { Fault } from '../fake-server.ts'
import { queryWithFault, refuseConnections } from './faults.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject } from './subject.ts'

// Faults that say nothing about the credentials: the operator must not read that they are wrong.
const INCONCLUSIVE_FAULTS: readonly Fault[] = [
  'hang',
  'cut_off',
  'http_500',
  'html_403',
  'html_503',
  'http_429',
]

export function testProbe(subject: Subject): void {
  describe('a probe', { concurrency: CONCURRENCY }, () => {
    it('works with the right credentials', async (t) => {
      const { gateway } = await startRig(t, subject)
      assert.equal(await probe(gateway), 'works')
    })

    it('is refused with credentials that the provider does not know', async (t) => {
      const rig = await startRig(t, subject)
      assert.equal(await probe(rig.open({ credentials: subject.otherCredentials })), 'refused')
    })

    it('makes a request, also if it has an access token', async (t) => {
      const rig = await startRig(t, subject)
      const { requests } = rig.provider.server
      const before = requests.length
      assert.equal(await probe(rig.gateway), 'works')
      const made = requests.slice(before).filter(({ path }) => !subject.prelude?.path.test(path))
      assert.notEqual(made.length, 0, 'the circuit breaker would close while the provider is down')
      assert.equal(await queryWithFault(rig, 'http_500', probe), 'unreachable')
    })

    it('is unreachable if the connection is refused', async (t) => {
      const rig = withoutToken(await startRig(t, subject))
      const gateway = await refuseConnections(rig)
      assert.equal(await probe(gateway), 'unreachable')
    })

    for (const kind of INCONCLUSIVE_FAULTS) {
      it(`does not report wrong credentials for ${kind}`, async (t) => {
        const rig = withoutToken(await startRig(t, subject))
        assert.equal(await queryWithFault(rig, kind, probe), 'unreachable')
      })
    }
  })
}

/** Credentials that are not stored yet have no access token. */
function withoutToken(rig: Rig): Rig {
  const open: Rig['open'] = (options) => rig.open({ ...options, hasNoToken: true })
  return { ...rig, open, gateway: open({}) }
}

function probe(gateway: Gateway): Promise<'works' | 'refused' | 'unreachable'> {
  assert.ok(gateway.probe, 'the gateway has probe')
  return gateway.probe()
}
