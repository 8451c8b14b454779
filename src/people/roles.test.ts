import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { grantsScope, SCOPES } from '../core/merchant.ts'
import { coversRole, ROLE_SCOPES, ROLES } from './roles.ts'

const writes = (role: (typeof ROLES)[number]) => ROLE_SCOPES[role].filter((scope) => scope.endsWith(':write'))

describe('roles', () => {
  it('give an owner every scope, and an admin all but those over owners', () => {
    for (const scope of SCOPES) assert.ok(ROLE_SCOPES.owner.includes(scope), scope)
    const missing = ROLE_SCOPES.owner.filter((scope) => !ROLE_SCOPES.admin.includes(scope))
    assert.deepEqual(missing, ['owners:write'])
  })

  it('let each role write only what its work needs', () => {
    assert.deepEqual(writes('viewer'), [])
    assert.deepEqual(writes('support'), ['notes:write'])
    assert.deepEqual(writes('finance'), [
      'refunds:write',
      'cases:write',
      'reconciliations:write',
      'notes:write',
    ])
    assert.deepEqual(writes('developer'), ['webhooks:write', 'keys:write', 'sandbox:write'])
  })

  it('let everybody but developers and support read the wallet', () => {
    const readers = ROLES.filter((role) => grantsScope(ROLE_SCOPES[role], 'wallet:read'))
    assert.deepEqual(readers, ['viewer', 'finance', 'admin', 'owner'])
  })

  it('name no scope twice', () => {
    for (const role of ROLES) assert.equal(new Set(ROLE_SCOPES[role]).size, ROLE_SCOPES[role].length, role)
  })

  it('cover another role only if they have all of its scopes', () => {
    for (const role of ROLES) {
      assert.ok(coversRole(ROLE_SCOPES.owner, role))
      assert.equal(coversRole(ROLE_SCOPES.admin, role), role !== 'owner')
    }
    assert.equal(coversRole(ROLE_SCOPES.developer, 'finance'), false)
  })
})
