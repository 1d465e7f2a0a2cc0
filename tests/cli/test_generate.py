"""`runcard generate`."""

from pathlib import Path

from runcard.city import generate_grid, read_city


def test_the_contract_s_command_writes_that_city(run, tmp_path: Path) -> None:
    """The folder holds what generate_grid makes of the same numbers."""
    ran = run("generate", tmp_path / "city", "--side", 6, "--stations", 5, "--load", 0.1, "--seed", 1)
    assert (ran.code, ran.err) == (0, "")
    assert read_city(tmp_path / "city") == generate_grid(side=6, num_stations=5, load=0.1, seed=1)


def test_every_option_reaches_the_city(run, tmp_path: Path) -> None:
    """No option is swallowed on the way."""
    options = ["--side", 5, "--stations", 3, "--load", 0.3, "--seed", 7, "--gamma", 0.8, "--sparseness", 0.9]
    options += ["--shared-delay", 0.25, "--busy-minutes", 45, "--trucks-per-station", 2]
    assert run("generate", tmp_path / "city", *options).code == 0
    assert read_city(tmp_path / "city") == generate_grid(
        side=5,
        num_stations=3,
        load=0.3,
        seed=7,
        gamma=0.8,
        sparseness=0.9,
        shared_delay=0.25,
        busy_minutes=45.0,
        trucks_per_station=2,
    )


def test_a_city_is_replaced_only_on_request(run, tmp_path: Path) -> None:
    """Without --overwrite a city in the way stays, with exit code 2."""
    assert run("generate", tmp_path / "city", "--seed", 1).code == 0
    ran = run("generate", tmp_path / "city", "--seed", 2)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "--overwrite" in ran.err
    assert read_city(tmp_path / "city").driving.route_seed == 1
    assert run("generate", tmp_path / "city", "--seed", 2, "--overwrite").code == 0
    assert read_city(tmp_path / "city").driving.route_seed == 2


def test_numbers_that_make_no_city_are_refused(refuse) -> None:
    """Everything that is wrong is said in one line, and no folder is made."""
    refuse("generate city --side 1 --load -1 :: side >= 2\ngenerate city --side 1 --load -1 :: load > 0")
