-- PostgreSQL planned the search for endpoints again at each use, 0.2 ms: it took arrays of a few events to be cheaper than
-- arrays of unknown length. The plan is the same.
alter function fan_out_events() set plan_cache_mode = force_generic_plan;
