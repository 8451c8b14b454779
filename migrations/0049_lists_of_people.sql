-- The lists of operators by kind, and the open invitations that end with the account that made them.
create index users_by_kind on users (kind, id);

create index invitations_by_inviter on invitations (invited_by) where used_at is null and revoked_at is null;
