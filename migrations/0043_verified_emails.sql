-- An account may have been made by another person than the owner of its e-mail address, with the link of an invitation. What
-- that person has registered ends when the owner proves the address.

-- When a link that was sent to the address was used; null before.
alter table users add column email_verified_at timestamptz;
